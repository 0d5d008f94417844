#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

struct SubsamplingOptions {
  std::int64_t features = 0;  // channels of input frames
  std::int64_t channels = 0;  // channels of the convolutions
  std::int64_t width = 0;     // channels of output frames
  int factor = 4;             // 4 | 8: frames that become one
  double scale = 1;           // factor of output frames
};

/// Appends the front of a Conformer to `sequence`. With factor 4, it has two convolutions of 3 × 3
/// and stride 2 in frequency and time, each with bias and ReLU, and a product:
///   subsampling.conv1 subsampling.relu1 subsampling.conv2 subsampling.relu2 subsampling.linear
/// With factor 8, as in FastConformer (Rekesh et al. 2023), the convolutions after the first are
/// depthwise, and a product over the channels of every frequency follows each of them:
///   subsampling.conv1 subsampling.relu1
///   subsampling.conv2 subsampling.pointwise2 subsampling.relu2
///   subsampling.conv3 subsampling.pointwise3 subsampling.relu3 subsampling.linear
/// subsampling.scale follows if the scale is not 1.
///
/// PyTorch models have images [channel][time][frequency]. Compared with them, kernels are
/// transposed, and column f · channels + c of subsampling.linear's weight is their column c ·
/// frequencies + f.
void add_subsampling(std::vector<std::unique_ptr<Layer>>& sequence,
                     const SubsamplingOptions& options);

}  // namespace penstock::layers
