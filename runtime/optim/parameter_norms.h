#pragma once

#include <vector>

#include "runtime/optim/optimizer.h"

namespace penstock::runtime {

/// The norm of the parameter's gradient times `with.factor`, from `with.squared_sums`.
double gradient_norm(const partition::ParameterEntry& parameter, const UpdateArguments& with);

/// The norm of every parameter of the stage, in their order, from what its owners add by
/// `with.sum_over_owners`; waits for the stream.
std::vector<double> weight_norms(layers::Backend& backend, layers::Stream& stream,
                                 const ParameterStore& store, const UpdateArguments& with);
/// The same of what lies in lane 0's arena of gradients.
std::vector<double> direction_norms(layers::Backend& backend, layers::Stream& stream,
                                    const ParameterStore& store, const UpdateArguments& with);

}  // namespace penstock::runtime
