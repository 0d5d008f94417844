#include "runtime/job.h"

#include "comm/mpi.h"
#include "comm/threads.h"

namespace penstock {

int run_job(const std::function<int(Communicator&)>& work, const Complain& complain) {
  const auto world =
      started_by_mpirun() ? join_mpi() : std::move(make_thread_communicators({.ranks = 1}).front());
  try {
    return work(*world);
  } catch (const std::exception& e) {
    const int code = complain(e);
    if (world->size() > 1) world->abort(code);
    return code;
  }
}

}  // namespace penstock
