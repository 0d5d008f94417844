#include "comm/shutdown.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

#include "comm/communicator.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

/// Records the events of all threads, in order.
class Events {
 public:
  void add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    all_.push_back(event);
    changed_.notify_all();
  }
  /// False where so many have not happened within five seconds.
  bool await(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(5), [&] { return all_.size() >= count; });
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

/// Tells what becomes of it; its abort waits for that of another one.
class Recorded final : public Abortable {
 public:
  Recorded(Events& events, std::size_t others_aborted)
      : events_(events), others_aborted_(others_aborted) {}
  void revoke() noexcept override {
    if (!std::exchange(revoked_, true)) events_.add("revoked");
  }
  void abort() noexcept override {
    events_.add("aborts");
    EXPECT_TRUE(events_.await(others_aborted_)) << "the others are not aborted meanwhile";
  }

 private:
  Events& events_;
  std::size_t others_aborted_;
  bool revoked_ = false;
};

FailureSteps recorded(Events& events) {
  return {.say = [&events](const std::exception& error) { events.add(error.what()); },
          .tell = [&events] { events.add("told"); }};
}

const std::vector<std::string> kOrder = {"disk full", "revoked", "revoked",
                                         "told",      "aborts",  "aborts"};

TEST(Shutdown, SaysRevokesTellsAndAborts) {
  Events events;
  Shutdown shutdown;
  shutdown.on_failure(recorded(events));
  for (int i = 0; i < 2; ++i) shutdown.add(std::make_shared<Recorded>(events, kOrder.size()));
  shutdown.fail(std::runtime_error("disk full"));
  EXPECT_EQ(events.all(), kOrder);
  shutdown.fail(std::runtime_error("what follows from it"));
  EXPECT_EQ(events.all(), kOrder);
}

TEST(Shutdown, AbortsWhatExceptionsHavePassed) {
  Events events;
  {
    Shutdown shutdown;
    shutdown.add(std::make_shared<Recorded>(events, 2));
    shutdown.revoke();
    EXPECT_EQ(events.all(), std::vector<std::string>{"revoked"});
  }
  EXPECT_EQ(events.all(), (std::vector<std::string>{"revoked", "aborts"}));
}

TEST(Shutdown, LeavesAloneWhatHasEnded) {
  Events events;
  Shutdown shutdown;
  const auto ended = std::make_shared<Recorded>(events, 0);
  shutdown.add(ended);
  shutdown.remove(*ended);
  shutdown.fail(std::runtime_error("late"));
  EXPECT_EQ(events.all(), std::vector<std::string>{});
}

/// Says when it is given back, as memory does.
struct Outside {
  explicit Outside(Events& of) : events(of) {}
  ~Outside() { events.add("given back"); }
  Events& events;
};

TEST(GuardedWork, FailsBeforeWhatIsOutsideIsGivenBack) {
  Events events;
  Shutdown shutdown;
  shutdown.on_failure(recorded(events));
  try {
    const Outside outside(events);
    guarded(shutdown, [] { throw std::runtime_error("stops"); });
    FAIL() << "nothing was raised";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "stops");
  }
  EXPECT_EQ(events.all(), (std::vector<std::string>{"stops", "told", "given back"}));
}

TEST(GuardedWork, GivesItsResult) {
  Shutdown shutdown;
  EXPECT_EQ(guarded(shutdown, [] { return 7; }), 7);
}

TEST(Shutdown, IsOneForAllGroupsOfARank) {
  run_as_threads({.ranks = 2}, [](Communicator& world) {
    const auto group = make_group(world, {{1, 0}, 1});
    EXPECT_EQ(&group->shutdown(), &world.shutdown());
  });
}

}  // namespace
}  // namespace penstock::comm
