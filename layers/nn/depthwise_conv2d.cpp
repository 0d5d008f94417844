#include "layers/nn/depthwise_conv2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/bias.h"
#include "layers/widened.h"

namespace penstock::layers {
namespace {

enum DepthwiseConv2dSaved { kInput, kOutputGradient };  // in LayerPlan::saved

}  // namespace

DepthwiseConv2d::DepthwiseConv2d(DepthwiseConv2dOptions options) : options_(std::move(options)) {
  for (const Conv2dAxis& axis : {options_.frequency, options_.time})
    if (axis.kernel < 1 || axis.stride < 1 || axis.padding < 0)
      throw ShapeError(
          fmt::format("depthwise convolution {}: kernel {} and stride {} must be positive and "
                      "padding {} not negative",
                      name(), axis.kernel, axis.stride, axis.padding));
  if (options_.channels < 1 || options_.in_frequencies < 1)
    throw ShapeError(
        fmt::format("depthwise convolution {} needs channels and frequencies, found {} and {}",
                    name(), counted(options_.channels, "channel"),
                    counted(options_.in_frequencies, "frequency", "frequencies")));
  out_frequencies();
}

DepthwiseConv2dGeometry DepthwiseConv2d::geometry(std::span<const std::int64_t> lengths) const {
  return {.channels = options_.channels,
          .frequency = options_.frequency,
          .time = options_.time,
          .in_frequencies = options_.in_frequencies,
          .lengths = lengths};
}

LayerPlan DepthwiseConv2d::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const DepthwiseConv2dGeometry g = geometry(x.lengths);
  if (x.channels != g.in_columns())
    throw ShapeError(fmt::format(
        "depthwise convolution {} was given rows of {} numbers, expected {} frequencies of {}",
        name(), x.channels, g.in_frequencies, counted(g.channels, "channel")));

  const double window = static_cast<double>(g.frequency.kernel * g.time.kernel);
  LayerPlan plan;
  plan.output = {input.dtype, {{g.out_lengths(), g.out_columns()}}};
  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(window)};
  plan.params.push_back({name() + ".weight", g.weight_shape(), start});
  if (options_.bias) plan.params.push_back({name() + ".bias", {g.channels}, start});
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_weight},
                {SavedDecl::Kind::output_gradient, Life::carried}};
  const std::size_t scratch = g.workspace(sizes.compute);
  plan.workspace = {scratch, scratch, scratch};
  const std::int64_t in = x.rows() * x.channels, taps = element_count(g.weight_shape()),
                     out = element_count(plan.output.only().shape());
  const std::size_t bias = options_.bias ? widened(sizes, {out, g.channels, out}) : 0;
  add_copies(plan.workspace, {std::max(widened(sizes, {in, taps, out}), bias),
                              widened(sizes, {out, taps, in}), widened(sizes, {in, out})});
  const double pass = 2 * window * static_cast<double>(plan.output.only().rows() * g.out_columns());
  plan.flops = {pass, pass, pass};
  return plan;
}

void DepthwiseConv2d::forward(Context& context, const Params& params, const Activation& x,
                              Activation& y, Saved) const {
  context.backend.run(context.stream, DepthwiseConv2dForward{.geometry = geometry(context.lengths),
                                                             .x_FC = x.only().x_FC,
                                                             .weight = params.weights[0],
                                                             .y_FC = y.only().x_FC,
                                                             .workspace = context.workspace});
  if (options_.bias)
    context.backend.run(context.stream, AddBias{y.only().x_FC, params.weights[1], y.only().x_FC});
}

void DepthwiseConv2d::backward_input(Context& context, const Params& params, const Activation& dy,
                                     Saved, Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      DepthwiseConv2dBackwardInput{.geometry = geometry(context.lengths),
                                                   .dy_FC = dy.only().x_FC,
                                                   .weight = params.weights[0],
                                                   .dx_FC = dx.only().x_FC,
                                                   .workspace = context.workspace});
}

void DepthwiseConv2d::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream,
                      DepthwiseConv2dBackwardWeight{.geometry = geometry(context.lengths),
                                                    .x_FC = saved[kInput],
                                                    .dy_FC = saved[kOutputGradient],
                                                    .dweight = grads[0],
                                                    .workspace = context.workspace});
  if (options_.bias)
    context.backend.run(context.stream, BiasBackwardWeight{saved[kOutputGradient], grads[1]});
}

}  // namespace penstock::layers
