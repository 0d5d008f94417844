#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/supervisor/stop_requests.h"
#include "tools/sweep/job_runner.h"
#include "tools/sweep/sweep_folder.h"
#include "tools/sweep/sweep_outcome.h"
#include "tools/sweep/sweep_plan.h"

namespace penstock::tools {

/// A SweepTraining says how the runs of a sweep are trained.
struct SweepTraining {
  std::vector<std::string> command;  // program, subcommand, and the words that all runs share
  std::vector<std::int64_t> steps;   // of each run's whole training
  std::size_t parallel = 1;          // runs at once
  double patience_s = 600;           // to wait for trainings that an earlier start has left
};

/// A SweepEnd says how a sweep ended.
enum class SweepEnd {
  done,           // each run is done, has failed, or was left behind by halving
  stopped,        // on request; all that ran have saved
  interrupted,    // by a second Ctrl-C, at once
  misconfigured,  // a run refused its configuration, which stops the others
  none_left,      // of the runs of a rung, none has a finite metric
};

/// Trains the runs of a sweep, each as a process with an output folder of its own. What is done is
/// never repeated, and what was stopped goes on from its newest checkpoint.
class Sweep {
 public:
  /// `say` gets a line for each event.
  Sweep(SweepPlan plan, SweepFolder folder, SweepTraining training,
        std::function<void(const std::string&)> say);

  /// Trains all runs, rung by rung if there is halving. CheckpointError if a run's folder is still
  /// locked after the patience; FileError if a run's end can't be recorded. Trainings that run are
  /// stopped with a save before.
  [[nodiscard]] SweepEnd train(runtime::StopRequests& stop);
  /// Trains one run, by its number from 1, to its end.
  [[nodiscard]] SweepEnd train_only(std::size_t run, runtime::StopRequests& stop);

  /// Returns what is known of all runs.
  SweepOutcome outcome() const;

 private:
  SweepEnd train_rung(const std::vector<std::size_t>& runs, std::int64_t rung,
                      runtime::StopRequests& stop);
  SweepJob job(std::size_t run, std::int64_t rung) const;
  bool wait_for_orphans(const std::vector<SweepJob>& jobs, runtime::StopRequests& stop) const;
  bool finish(const EndedJob& ended, std::int64_t steps);
  std::int64_t steps_of(std::size_t run, std::int64_t rung) const;
  std::vector<std::size_t> surviving(const std::vector<std::size_t>& runs, std::int64_t rung) const;

  SweepPlan plan_;
  SweepFolder folder_;
  SweepTraining training_;
  std::function<void(const std::string&)> say_;
  bool misconfigured_ = false, stopped_ = false;
};

}  // namespace penstock::tools
