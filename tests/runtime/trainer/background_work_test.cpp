#include "runtime/trainer/background_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>

namespace penstock::runtime {
namespace {

using Work = BackgroundWork<std::string>;

TEST(BackgroundWork, RunsBesideAndGivesItsResult) {
  std::latch go(1);
  Work work([&go](const std::stop_token&) {
    go.wait();
    return std::string("done");
  });
  EXPECT_FALSE(work.done());
  go.count_down();
  EXPECT_EQ(work.take(), "done");
}

TEST(BackgroundWork, MayHaveBeenDoneElsewhere) {
  Work work(std::string("there"));
  EXPECT_TRUE(work.done());
  EXPECT_EQ(work.take(), "there");
}

TEST(BackgroundWork, IsStoppedAndAwaitedWhereNobodyTakesIt) {
  std::atomic<bool> ended = false;
  {
    const Work work([&ended](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      ended = true;
      return std::string();
    });
  }
  EXPECT_TRUE(ended);
}

TEST(BackgroundWork, PassesOnWhatItRaises) {
  Work work([](const std::stop_token&) -> std::string { throw std::runtime_error("no disk"); });
  EXPECT_THROW(work.take(), std::runtime_error);
}

}  // namespace
}  // namespace penstock::runtime
