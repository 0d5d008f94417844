#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/cpu/halves/half_backend.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/batch/steps.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/run_shape.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/step_loader.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// A recipe's model and utterances, complete on every rank, for profiling steps.
struct ProfilingData {
  configs::Config config;  // with plan file and lanes resolved
  int labels = 0;          // including the blank
  partition::LayerSequence sequence;
  Corpus corpus;
  StepSequence steps;
  RunShape shape;
  std::unique_ptr<const Tokenizer> tokenizer = {};  // the corpus refers to it
};

/// Loads the data. All ranks of `world` call this together. Rank 0 reads first, so that its index
/// is ready for the others. Creates no output folder. Throws ConfigError and DataError like
/// train().
ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world);

/// A CPU backend that counts the bytes that are allocated from it, for comparison with a plan.
class CountedBackend final : public layers::HalfCpuBackend {
 public:
  using layers::HalfCpuBackend::HalfCpuBackend;

  layers::Buffer allocate(std::size_t bytes) override {
    allocated_ += bytes;
    return layers::HalfCpuBackend::allocate(bytes);
  }
  std::size_t allocated() const { return allocated_; }  // total bytes of all calls

 private:
  std::size_t allocated_ = 0;
};

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

/// Gathers the steps of every rank on rank 0, as [rank][step]; other ranks get nothing. The times
/// of layers are not gathered. All ranks call this together.
std::vector<std::vector<ProfiledStep>> gather_actions(comm::Communicator& world,
                                                      const std::vector<ProfiledStep>& own);

}  // namespace penstock::runtime
