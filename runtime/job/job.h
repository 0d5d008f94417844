#pragma once

#include <exception>
#include <functional>

#include "comm/join.h"

namespace penstock::runtime {

/// Reports an error and returns the exit code for it. If `alone` is false, all ranks may have the
/// error, and only rank 0 reports it.
using ReportError = std::function<int(const std::exception&, bool alone)>;

/// True if this process was not started as a rank (rank_in_job()). It then does the work of a whole
/// job.
[[nodiscard]] bool runs_alone();

/// Runs `work` as this process's rank of the job that join_job() finds, and returns the exit code.
/// If all ranks fail with the same code, each returns it as after a normal end. An error of a
/// single rank ends all ranks, under mpirun with its code. The others first get two seconds in
/// which they may fail with the same code.
[[nodiscard]] int run_job(const std::function<int(comm::Communicator&)>& work,
                          const ReportError& report_error);

}  // namespace penstock::runtime
