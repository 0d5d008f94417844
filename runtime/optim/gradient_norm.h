#pragma once

#include <span>
#include <vector>

#include "runtime/pipeline/parameter_store.h"

namespace penstock {

/// Squared sums of the gradients in lane 0's arena that this rank owns, written at their norm
/// blocks of `model_blocks` (one number for each block of the whole model).
void write_squared_sums(Backend& backend, Stream& stream, const ParameterStore& parameters,
                        std::span<double> model_blocks);

/// The largest magnitude among those gradients, if all are finite (the norm tells).
double largest_gradient(Backend& backend, Stream& stream, const ParameterStore& parameters);

/// √Σ, blocks added in model order by every rank alike.
double norm_of(std::span<const double> model_blocks);

/// What gradients are multiplied by so that their norm is at most `clip_norm`, as
/// torch.nn.utils.clip_grad_norm_: min(1, clip_norm / (norm + 1e-6)). 1 where clip_norm is 0.
double clip_factor(double norm, double clip_norm);

}  // namespace penstock
