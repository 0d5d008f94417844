#include "runtime/optim/batch_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "runtime/optim/learning_rate.h"

namespace penstock::runtime {
namespace {

/// The two keys that say how much audio a step may have.
struct Batch {
  double micro_batches = 1, seconds = 1;
  double audio() const { return micro_batches * seconds; }

  /// Returns the field that a key changes, or null.
  double* field(const std::string& key) {
    if (key == "data.micro_batches") return &micro_batches;
    return key == "data.micro_batch_seconds" ? &seconds : nullptr;
  }
};

/// Parses a value of a change. CheckpointError if it is no number above 0.
double positive(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !(number > 0) || !std::isfinite(number))
    throw CheckpointError(fmt::format(
        "the checkpoint says that its micro-batches changed to or from \"{}\", which is no number "
        "above 0",
        text));
  return number;
}

/// Returns the changes that were made under the current value of trainer.scaling.
std::span<const Correction> under_scaling(std::span<const Correction> changes) {
  std::int64_t since = 0;
  for (const Correction& change : changes)
    if (change.key == "trainer.scaling") since = change.step;
  const auto first = std::ranges::find_if(
      changes, [since](const Correction& change) { return change.step >= since; });
  return changes.subspan(static_cast<std::size_t>(first - changes.begin()));
}

}  // namespace

// The first batch follows from the current one by undoing the changes, the last first.
BatchScaling::BatchScaling(const configs::Config& config, std::span<const Correction> all) {
  const std::string& rule = config.trainer.scaling;
  if (rule == "none") return;
  const std::span<const Correction> changes = under_scaling(all);
  Batch batch{static_cast<double>(config.data.micro_batches), config.data.micro_batch_seconds};
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    if (double* const field = batch.field(change->key)) *field = positive(change->before);
  const double first = batch.audio();
  for (const Correction& change : changes) {
    double* const field = batch.field(change.key);
    if (field == nullptr) continue;
    *field = positive(change.after);
    segments_.push_back({change.step, batch.audio() / first});
  }
  if (segments_.empty()) return;
  if (rule == "linear")
    factor_ = [](double batch) { return batch; };
  else
    factor_ = [](double batch) { return std::sqrt(batch); };
}

/// Returns how many steps of the first batch the first `step` steps count more than they are.
double BatchScaling::extra_steps(std::int64_t step) const {
  double extra = 0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::int64_t end =
        i + 1 < segments_.size() ? std::min(segments_[i + 1].step, step) : step;
    const std::int64_t length = std::max<std::int64_t>(0, end - segments_[i].step);
    extra += (segments_[i].batch - 1) * static_cast<double>(length);
  }
  return extra;
}

double BatchScaling::learning_rate(const configs::LrScheduleConfig& schedule, double peak,
                                   std::int64_t step, std::int64_t optimizer_steps) const {
  const auto steps = static_cast<double>(optimizer_steps);
  if (factor_ == nullptr) return runtime::learning_rate(schedule, peak, steps);
  return factor_(segments_.back().batch) *
         runtime::learning_rate(schedule, peak, std::max(0.0, steps + extra_steps(step)));
}

std::int64_t BatchScaling::end_step(std::int64_t steps) const {
  if (factor_ == nullptr) return steps;
  const Segment& now = segments_.back();
  const double done = static_cast<double>(now.step) + extra_steps(now.step);
  const double left = std::max(0.0, static_cast<double>(steps) - done);
  constexpr double kRounding = 1e-6;  // of a sum that should be a whole number of steps
  return now.step + static_cast<std::int64_t>(std::ceil(left / now.batch - kRounding));
}

}  // namespace penstock::runtime
