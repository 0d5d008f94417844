#include "runtime/job/job.h"

#include <chrono>

#include "base/error.h"
#include "comm/common_failure.h"

namespace penstock::runtime {

namespace {

// Ranks find the same fault at slightly different times.
constexpr std::chrono::seconds kPatience{2};

/// Ends all ranks. MPI's abort does not return; other communicators throw CommError, which is
/// ignored.
void end_all(comm::Communicator& world, int code) {
  try {
    world.abort(code);
  } catch (const CommError&) {
  }
}

}  // namespace

bool runs_alone() { return !comm::rank_in_job(); }

// If all ranks fail within kPatience, they have found the same fault, and rank 0 reports it for
// all. Otherwise this rank fails alone: it reports the error itself and ends the others, which
// would wait for it forever.
int run_job(const std::function<int(comm::Communicator&)>& work, const ReportError& report_error) {
  const auto world = comm::join_job();
  int code = 0;
  bool alone = false;
  const std::exception* failure = nullptr;
  comm::FailureSteps steps;
  steps.say = [&](const std::exception& error) {
    alone = world->size() == 1 || dynamic_cast<const CommError*>(&error) != nullptr;
    code = report_error(error, alone);
    failure = &error;  // valid until tell() has been called
  };
  steps.tell = [&] {
    if (world->size() == 1 || (!alone && comm::all_ranks_fail(*world, code, kPatience))) return;
    if (!alone && world->rank() != 0) code = report_error(*failure, true);
    end_all(*world, code);
  };
  world->shutdown().on_failure(steps);
  try {
    return work(*world);
  } catch (const std::exception& error) {
    world->shutdown().fail(error);  // does nothing if the failure is already handled
    return code;
  }
}

}  // namespace penstock::runtime
