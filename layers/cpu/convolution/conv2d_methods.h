#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

// A 2-D convolution is computed in one of these three ways. conv2d.cpp chooses.

/// Convolves with any geometry, in FP32 or FP64. The windows of one output frame are laid side by
/// side in a matrix (im2col), which is then multiplied by the weights. The workspace is one frame's
/// windows and one copy of the weight.
namespace conv2d_direct {

Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_direct

/// Convolves each channel by itself, in FP32 or FP64, by sums of products over vectors of channels.
namespace conv2d_depthwise {

/// Returns the bytes for the weights, or their gradient, as [taps, channels].
Workspace workspace(const Conv2dGeometry& geometry, DType dtype);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_depthwise

/// Convolves in FP32 by Fourier transforms: over frequency of every frame, and then, bin by bin,
/// over time of overlapping tiles. At each point of a tile, one product takes the channels of all
/// tiles. For kernels as wide as DeepSpeech2's this takes a twentieth of the arithmetic, with
/// errors near 3e-7.
namespace conv2d_fft {

/// Returns true if the geometry fits, and transforms are worth their cost.
bool suits(const Conv2dGeometry& geometry);
Workspace workspace(const Conv2dGeometry& geometry);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_fft

}  // namespace penstock::layers
