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
  double start = 0, end = 0;  // seconds since the run's common zero; includes waiting
  double computing = 0;       // seconds of it spent in layers
  LayerTimes layers = {};     // times of this rank's layers, if it computed
};

struct ProfiledStep {
  double start = 0, end = 0;           // seconds since the common zero, on this rank
  std::vector<WatchedAction> actions;  // in the list's order; the rank's optimizer step is last
};

/// Runs real training steps of a recipe on the ranks of a job, to time them: its utterances,
/// features, messages, losses and updates, from random weights. Writes nothing.
class ProfilingRun {
 public:
  /// Every rank creates its own, with the same `config` (equal to the data's except for [pipeline])
  /// and plan. `data` and `world` must outlive it. Throws like Session.
  ProfilingRun(const ProfilingData& data, const configs::Config& config,
               const partition::Plan& plan, comm::Communicator& world);

  /// Steps whose features are computed ahead, as in training.
  static constexpr std::size_t kStepsAhead = 2;

  /// Steps per turn. Runs that are compared alternate after each turn, because machines change
  /// their speed within seconds.
  static constexpr int kTurn = 3;

  /// Runs the steps one after another; all ranks begin the first together. The device finishes
  /// every layer before the next one starts, so that layers can be timed. Features of the steps
  /// `ahead` are computed too, as if these followed, so that the last steps take as long as the
  /// others. A call with `ahead` must be the last one.
  std::vector<ProfiledStep> run(const std::vector<StepBatches>& steps,
                                const std::vector<StepBatches>& ahead = {});

  /// Returns the bytes that this rank has allocated for what plans count; 0 on CUDA, where they are
  /// not counted.
  std::size_t allocated() const;

 private:
  RankDevice device_of(const configs::Config& config);
  ProfiledStep run(const StepBatches& step);
  void note(const partition::Action& action, Moment moment);
  double common_zero();
  double now() const;

  comm::Communicator& world_;
  CountedBackend* counted_ = nullptr;  // the session's backend, if it runs on a CPU
  Session session_;
  StepLoader loader_;
  std::unique_ptr<TrainingStep> training_step_;
  TrainingClock clock_;
  double zero_ = 0;  // the common zero on this rank's clock
  LayerTimes times_, before_;
  ProfiledStep step_;
};

}  // namespace penstock::runtime
