#pragma once

#include <vector>

#include "runtime/optim/optimizer.h"

namespace penstock::runtime {

/// Returns the norm of the parameter's gradient times `with.factor`, computed from
/// `with.squared_sums`.
double gradient_norm(const partition::ParameterEntry& parameter, const UpdateArguments& with);

/// Returns the norm of every parameter of the stage, in order. Owners of pieces are summed by
/// `with.sum_over_owners`. Waits for the stream.
std::vector<double> weight_norms(layers::Backend& backend, layers::Stream& stream,
                                 const ParameterStore& store, const UpdateArguments& with);
/// Returns the same for the contents of lane 0's gradient arena.
std::vector<double> direction_norms(layers::Backend& backend, layers::Stream& stream,
                                    const ParameterStore& store, const UpdateArguments& with);

}  // namespace penstock::runtime
