#pragma once

#include <cstdint>

#include "layers/backend.h"
#include "layers/layer_plan.h"

namespace penstock::layers {

// These functions fill tensors: with initial values of a parameter, or with noise for timing.

/// Fills `values` (host memory, any dtype of weights) with elements [first, first + values.size())
/// of a parameter's initial values. They depend on (seed, name, initialiser) alone, so any owner of
/// any part of the parameter gets the same numbers. They are float32 values, also as f64, and are
/// rounded to the nearest in a 16-bit dtype.
void initialise(const ParamDecl& param, std::uint64_t seed, const Tensor& values,
                std::int64_t first = 0);

/// Fills the tensor with numbers within ± `max`, the same ones each time, for timing. Devices are
/// faster with zeros, which take less power and let them clock higher. Returns when the numbers are
/// there.
void fill_with_noise(Backend& backend, Stream& stream, const Tensor& tensor, float max);

}  // namespace penstock::layers
