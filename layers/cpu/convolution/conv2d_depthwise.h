#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// Convolution of each channel by itself, FP32 or FP64: sums of products over vectors of channels.
namespace conv2d_depthwise {

/// The weights, or their gradient, transposed.
Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_depthwise
}  // namespace penstock::layers
