#pragma once

#include <memory>
#include <optional>

#include "comm/communicator.h"

namespace penstock::comm {

/// Returns the rank that mpirun, another launcher that speaks PMIx or PMI, or PENSTOCK_RANK gave
/// this process. It is known before the ranks connect. Empty in a process that none of them
/// started.
[[nodiscard]] std::optional<int> rank_in_job();

/// Connects the ranks of this process's job. If PENSTOCK_RANK is set, PENSTOCK_RANKS ranks meet in
/// the folder PENSTOCK_MEET. Otherwise the ranks are MPI's if a launcher started the process, or
/// else this process alone. Call it once, before the first thread and the first call of CUDA, since
/// it changes the environment through set_nccl_defaults() and for Open MPI. CommError if the
/// variables contradict each other.
[[nodiscard]] std::unique_ptr<Communicator> join_job();

}  // namespace penstock::comm
