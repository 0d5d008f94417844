#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

struct SubsamplingOptions {
  std::int64_t features = 0;  // channels of the frames that enter
  std::int64_t channels = 0;  // of the convolutions
  std::int64_t width = 0;     // channels of the frames that leave
};

/// The front of a Conformer: two convolutions of 3 × 3 and stride 2 in frequency and time, each
/// with bias and ReLU, and a product, so that one frame comes out of four:
///   subsampling.conv1 subsampling.relu1 subsampling.conv2 subsampling.relu2 subsampling.linear
/// Appended to `sequence`.
void add_subsampling(std::vector<std::unique_ptr<Layer>>& sequence,
                     const SubsamplingOptions& options);

}  // namespace penstock::layers
