#include "layers/nn/depthwise_conv1d.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/linear.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/conv1d.h, without and with a gate:
//   y[t, c] = bias[c] + Σ_k weight[c, k] · g[t + k - left, c], where g is x or glu(x)
//   dg[t, c] = Σ_k weight[c, k] · dy[t - k + left, c]
//   d_weight[c, k] += Σ_t dy[t, c] · g[t + k - left, c];  d_bias[c] += Σ_t dy[t, c]
// The gate is part of the layer so that glu(x) is never saved. Both backward methods compute it
// again from x, which is cheap beside K multiply-adds for each number. That is too little work to
// count as a convolution: memory bounds it, as it bounds elementwise layers.

namespace penstock::layers {
namespace {

enum DepthwiseConv1dSaved { kInput, kOutputGradient };  // places in LayerPlan::saved

}  // namespace

DepthwiseConv1d::DepthwiseConv1d(DepthwiseConv1dOptions options) : options_(std::move(options)) {
  if (options_.left < 0 || options_.left >= options_.kernel)
    throw ShapeError(
        fmt::format("{} sees {} before the present one; its kernel of {} allows 0 to {}", name(),
                    counted(options_.left, "frame"), options_.kernel, options_.kernel - 1));
}

LayerPlan DepthwiseConv1d::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const std::int64_t C = options_.channels, K = options_.kernel;
  const std::int64_t columns = options_.gated ? 2 * C : C, rows = input.only().rows();
  if (input.only().channels != columns)
    throw ShapeError(fmt::format("depthwise convolution {} was given {} channels, expected {}",
                                 name(), input.only().channels, columns));
  LayerPlan plan;
  plan.output = {input.dtype, {{input.only().lengths, C}}};
  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(static_cast<double>(K))};
  plan.params.push_back({name() + ".weight", {C, K}, start});
  if (options_.bias) plan.params.push_back({name() + ".bias", {C}, start});
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_weight},
                {SavedDecl::Kind::output_gradient, Life::carried}};
  const std::size_t scratch = depthwise_conv1d_workspace({.rows = rows, .kernel = K}, sizes);
  plan.workspace = {scratch, scratch, scratch};
  const std::int64_t in = rows * columns, out = rows * C;
  add_copies(plan.workspace, {widened(sizes, {in, C * K, options_.bias ? C : 0, out}),
                              widened(sizes, {in, out, C * K, in}), widened(sizes, {in, out})});
  const auto count = static_cast<double>(rows * C);
  const double work = 2 * count * static_cast<double>(K), gate = options_.gated ? 10 * count : 0;
  plan.flops = {work + gate, work + 2 * gate, work + gate};
  return plan;
}

void DepthwiseConv1d::forward(Context& context, const Params& params, const Activation& x,
                              Activation& y, Saved) const {
  context.backend.run(context.stream,
                      DepthwiseConv1dForward{.x_FD = x.only().x_FC,
                                             .y_FC = y.only().x_FC,
                                             .weight_CK = params.weights[0],
                                             .bias_C = options_.bias ? params.weights[1] : Tensor{},
                                             .left = options_.left,
                                             .gated = options_.gated,
                                             .lengths = context.lengths,
                                             .workspace = context.workspace});
}

void DepthwiseConv1d::backward_input(Context& context, const Params& params, const Activation& dy,
                                     Saved saved, Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream, DepthwiseConv1dBackwardInput{.x_FD = saved[kInput],
                                                                   .dy_FC = dy.only().x_FC,
                                                                   .dx_FD = dx.only().x_FC,
                                                                   .weight_CK = params.weights[0],
                                                                   .left = options_.left,
                                                                   .gated = options_.gated,
                                                                   .lengths = context.lengths,
                                                                   .workspace = context.workspace});
}

void DepthwiseConv1d::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream,
                      DepthwiseConv1dBackwardWeight{.x_FD = saved[kInput],
                                                    .dy_FC = saved[kOutputGradient],
                                                    .d_weight_CK = grads[0],
                                                    .left = options_.left,
                                                    .gated = options_.gated,
                                                    .lengths = context.lengths,
                                                    .workspace = context.workspace});
  if (options_.bias)
    context.backend.run(context.stream, BiasBackwardWeight{saved[kOutputGradient], grads[1]});
}

}  // namespace penstock::layers
