#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "configs/config.h"

namespace penstock::configs {

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

}  // namespace penstock::configs
