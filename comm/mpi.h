#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"

namespace penstock::comm {

struct MpiOptions {
  /// Longer messages travel in pieces, since MPI counts in int.
  std::size_t piece_bytes = std::size_t{1} << 30;
};

/// Joins MPI_COMM_WORLD, from MPI_Init_thread to MPI_Finalize. A process makes at most one in its
/// life, and uses it from the thread that made it; transfers must end before it. Its destructor
/// waits for every rank's, except while an exception propagates: then the process is about to end,
/// and mpirun ends the job. abort() is MPI_Abort. CommError if MPI does not start, or if this build
/// has no MPI.
[[nodiscard]] std::unique_ptr<Communicator> join_mpi(const MpiOptions& options = {});

}  // namespace penstock::comm
