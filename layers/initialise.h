#pragma once

#include <cstdint>

#include "layers/layer_plan.h"

namespace penstock::layers {

/// Fills `values` (host memory, f32 or f64) with elements [first, first + values.size()) of a
/// parameter's initial values. They depend on (seed, name, initialiser) alone, so any owner of any
/// part of the parameter gets the same numbers. They are float32 values in either dtype.
void initialise(const ParamDecl& param, std::uint64_t seed, const Tensor& values,
                std::int64_t first = 0);

}  // namespace penstock::layers
