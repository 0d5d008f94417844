#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

struct ThreadsOptions {
  int ranks = 1;
  /// True if a send is done only once its receive has been posted, as large MPI sends and all NCCL
  /// sends are. Otherwise every send is copied and done at once.
  bool rendezvous = true;
};

/// Makes communicators for ranks that are threads of this process: one for each rank, each used by
/// one thread. abort() raises CommError on the rank that calls it, and from then on every call on
/// every rank raises CommError.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_thread_communicators(
    const ThreadsOptions&);

/// Runs `body` on one thread for each rank and returns when all have ended. The first failing
/// rank's exception is raised again here; CommError wakes the other ranks.
void run_as_threads(const ThreadsOptions&, const std::function<void(Communicator&)>& body);

}  // namespace penstock::comm
