#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// Lets the learning rate follow a global batch that changes during a run (trainer.scaling).
///
/// The recipe's schedule holds for the batch with which the run began. A step with a batch k times
/// as large counts as k of its steps, so that warm-up, decay and the end of the run come after the
/// same amount of data. A skipped step moves the schedule by k − 1, which is little. The learning
/// rate is multiplied by
///   linear   k     (Goyal et al. 2017, arXiv:1706.02677; for SGD)
///   sqrt     √k    (Krizhevsky 2014, arXiv:1404.5997; Malladi et al. 2022, arXiv:2205.10287; Adam)
/// With "none", and as long as the batch has not changed, all is as without this class, to the last
/// bit.
class BatchScaling {
 public:
  BatchScaling() = default;
  /// `all` are the changes of the whole run, in order. Those of the micro-batches count, from the
  /// last change of trainer.scaling on. `config` is the current recipe. CheckpointError if a change
  /// has no number.
  BatchScaling(const configs::Config& config, std::span<const Correction> all);

  /// Returns the learning rate of a step: `step` steps were done before it, of which
  /// `optimizer_steps` changed the model.
  double learning_rate(const configs::LrScheduleConfig& schedule, double peak, std::int64_t step,
                       std::int64_t optimizer_steps) const;

  /// Returns the step at which a run of `steps` steps of the first batch ends.
  std::int64_t end_step(std::int64_t steps) const;

 private:
  /// Steps with one batch, from `step` on.
  struct Segment {
    std::int64_t step = 0;
    double batch = 1;  // in units of the first batch
  };
  double extra_steps(std::int64_t step) const;

  double (*factor_)(double) = nullptr;  // null: the batch has no effect
  std::vector<Segment> segments_ = {};
};

}  // namespace penstock::runtime
