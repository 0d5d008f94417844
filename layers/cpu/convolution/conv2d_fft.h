#pragma once

#include "layers/backend.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

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
