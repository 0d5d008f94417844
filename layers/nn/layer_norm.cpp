#include "layers/nn/layer_norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/layer_norm.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/layer_norm.h. Forward saves mean and 1 / deviation
// of each frame, so that backward has x̂ without summing over the channels again. backward_input
// reads x and dy anyway, and leaves Σ dy and Σ dy · x̂ of each channel besides dx. These 2 · C
// numbers are all that backward_weight needs, so neither x nor dy stays alive for it. They are
// FP64, since they sum over all frames.

namespace penstock::layers {
namespace {

enum LayerNormSaved { kInput, kStatistics, kReductions };

}  // namespace

LayerPlan LayerNorm::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t C = options_.channels;
  if (x.channels != C)
    throw ShapeError(fmt::format("{} normalises {}, but its input has {}", name(),
                                 counted(C, "channel"), x.channels));
  LayerPlan plan;
  plan.output = input;
  plan.params.push_back({name() + ".weight", {C}, {Initialiser::Kind::constant, 1}, true});
  if (options_.bias)
    plan.params.push_back({name() + ".bias", {C}, {Initialiser::Kind::constant, 0}, true});
  plan.saved = {
      {SavedDecl::Kind::input, Life::to_backward_input},
      {SavedDecl::Kind::own, Life::to_backward_input, arithmetic_of(input.dtype), {x.rows(), 2}},
      {SavedDecl::Kind::own, Life::carried, DType::f64, {2, C}}};
  const std::int64_t n = x.rows() * C;
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {7 * count, 13 * count, 2.0 * static_cast<double>(C)};
  plan.cache_channels = 0;
  return plan;
}

void LayerNorm::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                        Saved saved) const {
  context.backend.run(
      context.stream,
      LayerNormForward{.x_FC = x.only().x_FC,
                       .y_FC = y.only().x_FC,
                       .weight_C = params.weights[0],
                       .bias_C = options_.bias ? params.weights[1] : Tensor{},
                       .statistics_F2 = context.mode == Mode::train ? saved[kStatistics] : Tensor{},
                       .epsilon = options_.epsilon,
                       .centred = options_.centred});
}

// It runs without dx as well, for the reductions.
void LayerNorm::backward_input(Context& context, const Params& params, const Activation& dy,
                               Saved saved, Activation& dx) const {
  context.backend.run(context.stream,
                      LayerNormBackwardInput{.x_FC = saved[kInput],
                                             .dy_FC = dy.only().x_FC,
                                             .dx_FC = dx.empty() ? Tensor{} : dx.only().x_FC,
                                             .weight_C = params.weights[0],
                                             .statistics_F2 = saved[kStatistics],
                                             .reductions_2C = saved[kReductions],
                                             .centred = options_.centred});
}

void LayerNorm::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream,
                      LayerNormBackwardWeight{.reductions_2C = saved[kReductions],
                                              .d_weight_C = grads[0],
                                              .d_bias_C = options_.bias ? grads[1] : Tensor{}});
}

}  // namespace penstock::layers
