#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "configs/config.h"

namespace penstock::configs {

// These rules bind several keys: they find values that contradict each other, and compute values
// that follow from others.

/// Returns one message per fault for values that are allowed each but contradict each other. A
/// message begins with the place where the key was set, which `where` returns for a key.
[[nodiscard]] std::vector<std::string> contradictions(
    const Config& config, const std::function<std::string(std::string_view)>& where);

/// The numbers over which a step's micro-batches are divided.
struct Shares {
  int micro_batches = 1, lanes = 1, replicas = 1;
};

/// Returns a contradiction if a replica has no lane, or a lane no micro-batch.
[[nodiscard]] std::vector<Contradiction> contradictions(const Shares& shares);

/// Returns why `order` does not name each of `micro_batches` micro-batches once, or "" if it does
/// or is empty.
[[nodiscard]] std::string fault_of_order(const std::vector<int>& order, int micro_batches);

/// Returns the points of the Fourier transform for a window of `window` samples. features.fft = 0
/// means the window's samples, or for fbank the next power of two.
[[nodiscard]] std::int64_t fft_points(const FeatureConfig& features, std::int64_t window);

/// An entry of optimizer.learning_rates.
struct RateFactor {
  std::string pattern;  // pattern of parameter names; see base/name_match.h
  double factor = 1;    // factor of the learning rate, above 0
};

/// Parses optimizer.learning_rates, in its order. ConfigError names each entry that is not
/// "pattern: factor".
std::vector<RateFactor> rate_factors(const OptimizerConfig& optimizer);

/// True for each of the micro-batch keys that a recipe names.
struct NamedMicroBatches {
  bool seconds = false, number = false;
};

/// Divides the step of data.batch_seconds, if that is set, into micro-batches. If the recipe names
/// one of the two keys, that one decides. If it names neither, micro-batches are equal, of at most
/// the default seconds, and no fewer than lanes. Returns "" or the fault: keys that contradict each
/// other, or a step that is no multiple of its micro-batches (holds_step()).
[[nodiscard]] std::string divide_step(Config& config, const NamedMicroBatches& named);

/// Returns true if the micro-batches together are as long as the step, up to rounding.
[[nodiscard]] bool holds_step(double batch_seconds, double micro_batch_seconds, int micro_batches);

}  // namespace penstock::configs
