#pragma once

#include "layers/backend.h"

namespace penstock::layers {

/// Fills the tensor with numbers within ± `most`, the same ones each time, for timing. Devices are
/// faster with zeros, which take less power and let them clock higher. Returns when the numbers are
/// there.
void fill_with_noise(Backend& backend, Stream& stream, const Tensor& tensor, float max);

}  // namespace penstock::layers
