#pragma once

#include <exception>
#include <functional>

#include "comm/join.h"

namespace penstock::runtime {

/// Says what went wrong and returns the exit code that it deserves.
using Complain = std::function<int(const std::exception&)>;

/// Whether this process was not started as a rank, by rank_in_job(): it then does the work of a
/// whole job.
[[nodiscard]] bool runs_alone();

/// Runs `work` as this process's rank of the job that join_job() finds. An error of one rank ends
/// them all, under mpirun with its code. Returns the exit code.
[[nodiscard]] int run_job(const std::function<int(comm::Communicator&)>& work,
                          const Complain& complain);

}  // namespace penstock::runtime
