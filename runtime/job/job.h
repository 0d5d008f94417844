#pragma once

#include <exception>
#include <functional>

#include "comm/join.h"

namespace penstock::runtime {

/// Says what went wrong and returns the exit code that it deserves. Where a rank is not `alone`
/// with an error, rank 0 says it for all.
using Complain = std::function<int(const std::exception&, bool alone)>;

/// Whether this process was not started as a rank, by rank_in_job(): it then does the work of a
/// whole job.
[[nodiscard]] bool runs_alone();

/// Runs `work` as this process's rank of the job that join_job() finds. Returns the exit code.
/// Ranks that all fail with one code end as after work that is done. An error of one rank ends them
/// all, under mpirun with its code, once the others have had two seconds to find it too.
[[nodiscard]] int run_job(const std::function<int(comm::Communicator&)>& work,
                          const Complain& complain);

}  // namespace penstock::runtime
