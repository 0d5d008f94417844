#include "runtime/optim/loss_scale.h"

#include <algorithm>
#include <cmath>

namespace penstock::runtime {
namespace {

constexpr double kSmallest = 1, kLargest = 16384;
constexpr double kCleanSteps = 2000;   // steps before the scale doubles in backoff
constexpr double kLogOfOverflow = 16;  // used by logmax: the range of fp16 ends at 2^16
constexpr double kBeta = 0.99, kSlowBeta = 0.999, kDeviations = 3.09;

}  // namespace

LossScale::LossScale(const configs::PrecisionConfig& config) {
  if (config.compute != "fp16") return;
  if (config.loss_scaling == "static") scale_ = config.scale;
  if (config.loss_scaling == "logmax") rule_ = Rule::logmax;
  if (config.loss_scaling != "backoff") return;
  rule_ = Rule::backoff;
  scale_ = kLargest;
}

void LossScale::update(bool overflowed, double largest) {
  if (rule_ == Rule::backoff) return back_off(overflowed);
  if (rule_ == Rule::none || (largest == 0 && !overflowed)) return;  // log2(0) is infinite
  follow(overflowed || !std::isfinite(largest) ? kLogOfOverflow : std::log2(largest));
}

// Halving is quick and doubling is rare, since a step that overflows is lost.
void LossScale::back_off(bool overflowed) {
  clean_steps_ = overflowed ? 0 : clean_steps_ + 1;
  if (overflowed) scale_ = std::max(scale_ / 2, kSmallest);
  if (clean_steps_ < kCleanSteps) return;
  scale_ = std::min(scale_ * 2, kLargest);
  clean_steps_ = 0;
}

// x is log2 of the largest gradient, which is taken to be normally distributed. The scale puts mean
// + 3.09 standard deviations at the end of fp16's range, so about one step in 1,000 overflows. The
// deviation is computed from slower means than the mean itself. Division by 1 - beta^updates makes
// up for the start of all three means at 0.
void LossScale::follow(double x) {
  ++updates_;
  mean_ += (1 - kBeta) * (x - mean_);
  slow_ += (1 - kSlowBeta) * (x - slow_);
  square_ += (1 - kSlowBeta) * (x * x - square_);
  const double correction = 1 - std::pow(kSlowBeta, updates_);
  const double slow_mean = slow_ / correction;
  const double variance = std::max(square_ / correction - slow_mean * slow_mean, 0.0);
  const double cutoff = mean_ / (1 - std::pow(kBeta, updates_)) + kDeviations * std::sqrt(variance);
  scale_ = std::clamp(std::exp2(kLogOfOverflow - cutoff), kSmallest, kLargest);
}

LossScale::Numbers LossScale::state() const {
  switch (rule_) {
    case Rule::backoff:
      return {{"scale", scale_}, {"clean_steps", clean_steps_}};
    case Rule::logmax:
      return {{"scale", scale_},
              {"updates", updates_},
              {"mean", mean_},
              {"slow", slow_},
              {"square", square_}};
    default:
      return {};
  }
}

void LossScale::restore(const Numbers& state) {
  const auto take = [&](const char* name, double& number) {
    const auto found = state.find(name);
    if (found != state.end()) number = found->second;
  };
  take("scale", scale_);
  take("clean_steps", clean_steps_);
  take("updates", updates_);
  take("mean", mean_);
  take("slow", slow_);
  take("square", square_);
}

}  // namespace penstock::runtime
