#pragma once

#include <vector>

#include "runtime/optim/optimizer.h"

namespace penstock {

/// The norm of the parameter's gradient times `with.gradient_factor`, from `with.squared_sums`.
double gradient_norm(const ParameterEntry& parameter, const UpdateArguments& with);

/// The norm of every parameter of the stage, in their order; waits for the stream.
std::vector<double> weight_norms(Backend& backend, Stream& stream, const ParameterStore& store);
/// The same of what lies in lane 0's arena of gradients.
std::vector<double> direction_norms(Backend& backend, Stream& stream, const ParameterStore& store);

}  // namespace penstock
