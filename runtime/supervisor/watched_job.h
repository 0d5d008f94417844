#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/supervisor/mpi_job.h"
#include "runtime/supervisor/rank_watch.h"
#include "runtime/supervisor/restart_policy.h"
#include "runtime/supervisor/run_status.h"

namespace penstock::runtime {

/// The answer of a supervisor that a watched job asks some ten times a second.
struct JobWishes {
  bool stop = false;   // all ranks should save and end
  bool abort = false;  // all ranks should end at once
};

struct WatchedJobOptions {
  MpiJobSpec job;
  WatchLimits limits;
  double stop_s = 600;  // time that ranks may take to save after a request to stop
  int signals = -1;     // a descriptor that becomes readable when wishes may have changed
  std::string stacks;   // file for the stacks of a rank that hangs; empty: none are taken
  /// Called with the state of the ranks, and the time in which they ran steps.
  std::function<JobWishes(const RankWatch&, double trained_s)> wishes;
  std::function<void(Incident)> report;
};

/// How a job ended, and the rank and host that were the cause as far as can be told.
struct WatchedJobEnd {
  JobEnd end;
  int rank = -1;
  std::string host = {};
  double trained_s = 0;  // time in which ranks ran steps
};

/// Runs one incarnation from the start of mpirun to the end of its last process. Forwards what the
/// job prints, finds hangs and stragglers, and stops the job on request. A request before the first
/// step ends the job at once: nothing is lost.
[[nodiscard]] WatchedJobEnd run_watched(const WatchedJobOptions& options);

}  // namespace penstock::runtime
