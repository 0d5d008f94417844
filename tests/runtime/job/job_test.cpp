#include "runtime/job/job.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace penstock::runtime {
namespace {

using Events = std::vector<std::string>;

class Recorded final : public comm::Abortable {
 public:
  explicit Recorded(Events& events) : events_(events) {}
  void revoke() noexcept override {
    if (events_.back() != "revoked") events_.emplace_back("revoked");
  }
  void abort() noexcept override { events_.emplace_back("aborted"); }

 private:
  Events& events_;
};

/// Returns the events of a job that does this work, and the code that it deserves.
Events events_of(const std::function<int(comm::Communicator&)>& work) {
  Events events;
  const int code = run_job(
      [&](comm::Communicator& world) {
        world.shutdown().add(std::make_shared<Recorded>(events));
        return work(world);
      },
      [&](const std::exception& error, bool) {
        events.emplace_back(error.what());
        return 3;
      });
  EXPECT_EQ(code, 3);
  return events;
}

TEST(Job, SaysWhatFailedBeforeAnythingElse) {
  EXPECT_EQ(events_of([](comm::Communicator&) -> int { throw std::runtime_error("disk full"); }),
            (Events{"disk full", "revoked", "aborted"}));
}

TEST(Job, SaysOnceWhatGuardedWorkRaises) {
  EXPECT_EQ(events_of([](comm::Communicator& world) {
              return comm::guarded(world.shutdown(),
                                   []() -> int { throw std::runtime_error("diverges"); });
            }),
            (Events{"diverges", "revoked", "aborted"}));
}

TEST(Job, GivesTheCodeOfWorkThatEnds) {
  EXPECT_EQ(
      run_job([](comm::Communicator&) { return 5; }, [](const std::exception&, bool) { return 3; }),
      5);
}

}  // namespace
}  // namespace penstock::runtime
