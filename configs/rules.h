#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "configs/config.h"

namespace penstock::configs {

/// What is wrong with values that are each allowed but do not go together; one message each, ended
/// by where the values were set, which `where` says of a key.
[[nodiscard]] std::vector<std::string> contradictions(
    const Config& config, const std::function<std::string(std::string_view)>& where);

/// How a step's micro-batches are shared out.
struct Shares {
  int micro_batches = 1, lanes = 1, replicas = 1;
};

/// Every replica needs a lane, and every lane a micro-batch.
[[nodiscard]] std::vector<Contradiction> contradictions(const Shares& shares);

/// What keeps `order` from naming each of so many micro-batches once; nothing: all is well, or it
/// is empty.
[[nodiscard]] std::string fault_of_order(const std::vector<int>& order, int micro_batches);

/// Points of the Fourier transform of a window of so many samples, where features.fft = 0 stands
/// for the window's, or for the next power of two in an fbank.
[[nodiscard]] std::int64_t fft_points(const FeatureConfig& features, std::int64_t window);

}  // namespace penstock::configs
