#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"

namespace penstock::comm {

struct MpiOptions {
  /// Longer messages travel in pieces: MPI counts in int.
  std::size_t piece_bytes = std::size_t{1} << 30;
};

/// MPI_COMM_WORLD, from MPI_Init_thread to MPI_Finalize: at most one in the life of a process, used
/// by the thread that made it; transfers end before it. Its destructor waits for every rank's,
/// except while an exception passes: then the process is on its way down, and mpirun takes the job
/// with it. abort() is MPI_Abort. CommError if MPI does not start, or if this build is without it.
[[nodiscard]] std::unique_ptr<Communicator> join_mpi(const MpiOptions& options = {});

}  // namespace penstock::comm
