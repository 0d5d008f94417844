#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// Convolution in FP32 by Fourier transforms: over frequency of every frame, then, bin by bin, over
/// time of overlapping tiles, with a product of channels at each point. For kernels as wide as
/// DeepSpeech2's it takes a twentieth of the arithmetic, with errors near 3e-7.
namespace conv2d_fft {

/// Whether the geometry fits and is worth it.
bool suits(const Conv2dGeometry& geometry);
Workspace workspace(const Conv2dGeometry& geometry);
void run(Stream&, const Conv2dForward&);
void run(Stream&, const Conv2dBackwardInput&);
void run(Stream&, const Conv2dBackwardWeight&);

}  // namespace conv2d_fft
}  // namespace penstock::layers
