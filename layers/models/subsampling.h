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
  int factor = 4;             // 4 | 8: frames that become one
  double scale = 1;           // of the frames that leave
};

/// The front of a Conformer. With factor 4, two convolutions of 3 × 3 and stride 2 in frequency and
/// time, each with bias and ReLU, and a product:
///   subsampling.conv1 subsampling.relu1 subsampling.conv2 subsampling.relu2 subsampling.linear
/// With factor 8, as FastConformer has it (Rekesh et al. 2023), the convolutions behind the first
/// are depthwise ones, each followed by a product over the channels of every frequency:
///   subsampling.conv1 subsampling.relu1
///   subsampling.conv2 subsampling.pointwise2 subsampling.relu2
///   subsampling.conv3 subsampling.pointwise3 subsampling.relu3 subsampling.linear
/// and subsampling.scale behind either, where the scale is not 1. Appended to `sequence`.
///
/// Against models of PyTorch whose images are [channel][time][frequency]: kernels are transposed,
/// and of subsampling.linear's weight, column f · channels + c is theirs of c · frequencies + f.
void add_subsampling(std::vector<std::unique_ptr<Layer>>& sequence,
                     const SubsamplingOptions& options);

}  // namespace penstock::layers
