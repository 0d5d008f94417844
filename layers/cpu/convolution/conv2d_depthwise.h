#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// Convolves each channel by itself, in FP32 or FP64, by sums of products over vectors of channels.
namespace conv2d_depthwise {

/// Returns the bytes for the weights, or their gradient, as [taps, channels].
Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_depthwise
}  // namespace penstock::layers
