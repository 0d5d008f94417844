#include "runtime/job.h"

#include "comm/mpi.h"
#include "comm/threads.h"

namespace penstock {

std::optional<int> rank_in_job() { return launcher_rank(); }

bool runs_alone() { return !rank_in_job(); }

int run_job(const std::function<int(Communicator&)>& work, const Complain& complain) {
  const auto world =
      runs_alone() ? std::move(make_thread_communicators({.ranks = 1}).front()) : join_mpi();
  try {
    return work(*world);
  } catch (const std::exception& e) {
    const int code = complain(e);
    if (world->size() > 1) world->abort(code);
    return code;
  }
}

}  // namespace penstock
