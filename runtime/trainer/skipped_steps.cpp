#include "runtime/trainer/skipped_steps.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::runtime {

void SkippedSteps::count(const StepReport& step) {
  last_ = step;
  total_ += step.skipped;
  in_a_row_ = step.skipped ? in_a_row_ + 1 : 0;
  if (in_a_row_ > max_) throw_divergence();
}

// A loss that is finite may belong to a gradient that only a too large loss scale made infinite.
// The run ends before the scale can be lowered enough, so that counts as no divergence.
void SkippedSteps::check_end() const {
  if (in_a_row_ > 0 && !std::isfinite(last_.loss)) throw_divergence();
}

void SkippedSteps::throw_divergence() const {
  throw DivergenceError(fmt::format(
      "training diverged: no gradient of the last {} ({} to {}) is finite, so none of them changed "
      "the model (last loss {}, learning rate {:g}; trainer.max_skipped = {}). Begin anew with a "
      "lower optimizer.learning_rate, a lower optimizer.clip_norm or a longer lr_schedule.warmup.",
      counted(in_a_row_, "step"), last_.step - in_a_row_ + 1, last_.step, last_.loss,
      last_.learning_rate, max_));
}

}  // namespace penstock::runtime
