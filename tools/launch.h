#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>

namespace penstock::tools {

/// The rank that mpirun gave this process; 0 if none did. Known before MPI starts, so that faults
/// of the command line are said once.
[[nodiscard]] int launched_rank();

/// For work that is no job of several ranks: under mpirun rank 0 alone does it.
[[nodiscard]] std::function<int()> on_rank_0(std::function<int()> work);

/// Writes "penstock: <message>" to standard error, with the rank's number. A fault that every rank
/// should find alike is written by rank 0, which ends the job; another rank waits a moment for
/// that, and whoever is still there was alone with the fault and writes it.
void complain(const std::string& message, bool found_by_every_rank);

/// Sends log messages to standard error, which leaves standard output to reports. Ranks above 0 log
/// warnings alone.
void set_up_logging();

/// complain() with what the error deserves; returns its exit code. A process that is still there
/// some time later is ended with it.
int complain_of(const std::exception& error);
/// The same with that time.
int complain_and_end(const std::exception& error, std::chrono::milliseconds limit);

/// The same for runtime::run_job(): of what ranks may find together, rank 0 alone complains.
int complain_in_job(const std::exception& error, bool alone);

}  // namespace penstock::tools
