#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// Convolves with any geometry, in FP32 or FP64. The windows of one output frame are laid side by
/// side in a matrix (im2col), which is then multiplied by the weights. The workspace is one frame's
/// windows and one copy of the weight.
namespace conv2d_direct {

Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_direct
}  // namespace penstock::layers
