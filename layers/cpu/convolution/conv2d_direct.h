#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// Convolution of any geometry, FP32 or FP64: the windows of one output frame side by side in a
/// matrix, and a product with the weights.
namespace conv2d_direct {

Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_direct
}  // namespace penstock::layers
