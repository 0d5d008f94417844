#pragma once

#include <memory>
#include <optional>

#include "comm/communicator.h"

namespace penstock::comm {

/// The rank that mpirun, another launcher that speaks PMIx or PMI, or PENSTOCK_RANK gave this
/// process: known before it meets the others. Nothing in a process that none of them started.
[[nodiscard]] std::optional<int> rank_in_job();

/// The ranks of this process's job, to be called once: those of PENSTOCK_RANKS that meet in the
/// folder PENSTOCK_MEET, else MPI's where a launcher started it, else this process alone. To be
/// called before the first thread and the first call of CUDA: it changes the environment, by
/// suit_nccl() and for Open MPI. CommError if the variables do not fit each other.
[[nodiscard]] std::unique_ptr<Communicator> join_job();

}  // namespace penstock::comm
