#include "runtime/job/job.h"

#include "base/error.h"

namespace penstock::runtime {

namespace {

/// MPI ends this process as well; otherwise it is still to return.
void end_all(comm::Communicator& world, int code) {
  try {
    world.abort(code);
  } catch (const CommError&) {
  }
}

}  // namespace

bool runs_alone() { return !comm::rank_in_job(); }

int run_job(const std::function<int(comm::Communicator&)>& work, const Complain& complain) {
  const auto world = comm::join_job();
  int code = 0;
  comm::FailureSteps steps;
  steps.say = [&](const std::exception& error) { code = complain(error); };
  steps.tell = [&] {
    if (world->size() > 1) end_all(*world, code);
  };
  world->shutdown().on_failure(steps);
  try {
    return work(*world);
  } catch (const std::exception& error) {
    world->shutdown().fail(error);  // where nobody has who was nearer to it
    return code;
  }
}

}  // namespace penstock::runtime
