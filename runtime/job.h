#pragma once

#include <exception>
#include <functional>
#include <optional>

#include "comm/communicator.h"

namespace penstock {

/// Says what went wrong and returns the exit code that it deserves.
using Complain = std::function<int(const std::exception&)>;

/// The rank that mpirun gave this process, known before MPI starts; nothing if none started it.
std::optional<int> rank_in_job();

/// Whether no mpirun started this process: it then does the work of a whole job.
bool runs_alone();

/// Runs `work` as this process's rank of the job: MPI's where mpirun started it, else alone. Under
/// mpirun an error of one rank ends them all, with its code. Returns the exit code.
int run_job(const std::function<int(Communicator&)>& work, const Complain& complain);

}  // namespace penstock
