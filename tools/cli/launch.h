#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>

namespace penstock::tools {

/// Returns the rank that mpirun gave this process, or 0 if none did. It is known before MPI starts,
/// so that one rank alone reports faults of the command line.
[[nodiscard]] int launched_rank();

/// Returns work that rank 0 alone does under mpirun, for commands that are no job of several ranks.
[[nodiscard]] std::function<int()> on_rank_0(std::function<int()> work);

/// Writes "penstock: <message>" to standard error, with the rank's number. If every rank should
/// find the fault, rank 0 writes it and ends the job. The other ranks wait a moment for that; a
/// rank that is still running then has found the fault alone and writes it.
void report_error(const std::string& message, bool found_by_every_rank);

/// Sends log messages to standard error, which leaves standard output to reports. Ranks above 0 log
/// warnings and errors alone.
void set_up_logging();

/// Complains about the error and returns its exit code. A watchdog ends the process with that code
/// if it is still running some time later.
int complain_of(const std::exception& error);
/// Does the same with the given time.
int complain_and_end(const std::exception& error, std::chrono::milliseconds limit);

/// Does the same for runtime::run_job(). Rank 0 alone complains about a fault that ranks may find
/// together; `alone` says that this rank found it alone.
int complain_in_job(const std::exception& error, bool alone);

}  // namespace penstock::tools
