#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

#include "comm/communicator.h"

namespace penstock::comm {

// A job's ranks join in one of three ways: as MPI's ranks, by files in a folder, or as one rank
// alone.

/// Returns the rank that mpirun, another launcher that speaks PMIx or PMI, or PENSTOCK_RANK gave
/// this process. It is known before the ranks connect. Empty in a process that none of them
/// started.
[[nodiscard]] std::optional<int> rank_in_job();

/// Returns true if mpirun started all ranks of this process's job on this machine.
[[nodiscard]] bool is_job_on_one_machine();

/// Connects the ranks of this process's job. If PENSTOCK_RANK is set, PENSTOCK_RANKS ranks meet in
/// the folder PENSTOCK_MEET. Otherwise the ranks are MPI's if a launcher started the process, or
/// else this process alone. Call it once, before the first thread and the first call of CUDA, since
/// it changes the environment through set_nccl_defaults() and for Open MPI. CommError if the
/// variables contradict each other.
[[nodiscard]] std::unique_ptr<Communicator> join_job();

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

struct FilesOptions {
  std::filesystem::path folder;  // empty when the job starts, and the same for all its ranks
  int rank = 0, ranks = 1;
};

/// Joins ranks that meet in a folder of one machine or of a shared disk. Every message is a file
/// there. It serves machines without MPI: it is fast enough to exchange NCCL's ids and for trials,
/// and slow otherwise. A send is done at once. abort() raises CommError on this rank and on the
/// others, which it wakes; a rank that is killed goes unnoticed. CommError if this rank has joined
/// in the folder before, since the messages of an earlier job would be mistaken for this one's.
std::unique_ptr<Communicator> join_files(const FilesOptions& options);

}  // namespace penstock::comm
