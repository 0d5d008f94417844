#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

struct ThreadsOptions {
  int ranks = 1;
  /// A send is done only once its receive has been posted, as large MPI and all NCCL sends are;
  /// otherwise every send is copied and done at once.
  bool rendezvous = true;
};

/// Communicators of ranks that are threads of this process, one for each rank, to be used by one
/// thread each. abort() raises CommError in the rank that calls it, and from then on every call of
/// every rank raises CommError.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_thread_communicators(
    const ThreadsOptions&);

/// Runs `body` on one thread for each rank and returns when all have ended. What the first failing
/// rank raised is raised again here; the others are woken with CommError.
void run_as_threads(const ThreadsOptions&, const std::function<void(Communicator&)>& body);

}  // namespace penstock::comm
