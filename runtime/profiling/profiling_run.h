#pragma once

#include <memory>
#include <vector>

#include "runtime/pipeline/session.h"
#include "runtime/profiling/counted_backend.h"
#include "runtime/profiling/profiling_data.h"
#include "runtime/trainer/step_loader.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// An action as a rank ran it.
struct WatchedAction {
  partition::Action action;
  double start = 0, end = 0;  // seconds since the profiling run's common zero, waiting included
  double computing = 0;       // seconds of that in layers
  LayerTimes layers = {};     // of this rank's layers, where it computed
};

struct ProfiledStep {
  double start = 0, end = 0;           // on this rank, seconds since the common zero
  std::vector<WatchedAction> actions;  // in the order of the list; the rank's step is the last
};

/// Real training steps of a recipe on the ranks of a job, to be timed: its utterances, features,
/// messages, losses and updates, from random weights. Nothing is written.
class ProfilingRun {
 public:
  /// Every rank makes its own, with the same `config` (the data's, but for [pipeline]) and plan.
  /// `data` and `world` must outlive it. Errors as Session.
  ProfilingRun(const ProfilingData& data, const configs::Config& config,
               const partition::Plan& plan, comm::Communicator& world);

  /// Steps whose features are made beforehand, as in training.
  static constexpr std::size_t kStepsAhead = 2;

  /// What is to be compared takes turns of so many steps: machines get faster and slower within
  /// seconds.
  static constexpr int kTurn = 3;

  /// Runs the steps one behind the other, all ranks beginning the first together. The device
  /// finishes every layer before the next, so that it can be timed. Meanwhile features are made of
  /// those `ahead` too, as if they were to follow, so that the last steps take as long as the
  /// others; with any, this is the last call.
  std::vector<ProfiledStep> run(const std::vector<StepBatches>& steps,
                                const std::vector<StepBatches>& ahead = {});

  /// What this rank has allocated so far of what plans count, in bytes; 0 on CUDA, where nobody
  /// counts.
  std::size_t allocated() const;

 private:
  RankDevice device_of(const configs::Config& config);
  ProfiledStep run(const StepBatches& step);
  void note(const partition::Action& action, Moment moment);
  double common_zero();
  double now() const;

  comm::Communicator& world_;
  CountedBackend* counted_ = nullptr;  // the session's, on a CPU
  Session session_;
  StepLoader loader_;
  std::unique_ptr<TrainingStep> training_step_;
  TrainingClock clock_;
  double zero_ = 0;  // the common zero, by this rank's clock
  LayerTimes times_, before_;
  ProfiledStep step_;
};

}  // namespace penstock::runtime
