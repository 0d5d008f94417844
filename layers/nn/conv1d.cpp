#include "layers/nn/conv1d.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/linear.h"
#include "layers/ops/weight_norm.h"
#include "layers/scratch.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/conv1d.h. Weight normalisation (Salimans & Kingma
// 2016) is added around them: the weight is v scaled to the length g, for each tap. It is never
// saved. forward and backward_input compute it into the start of their workspace, and give the
// convolution the rest. backward_weight lets the convolution add into a zeroed gradient of the
// weight there, from which WeightNormBackward makes those of v and g. It needs v and g for that and
// gets no weights, so backward_input carries copies.

namespace penstock::layers {
namespace {

enum Conv1dSaved { kInput, kOutputGradient, kDirections, kLengths };
enum WeightNormParams { kG, kV };

/// A normalised weight, or its gradient, at the start of the workspace, and the rest for the
/// convolution.
struct NormedWeight {
  NormedWeight(std::span<std::byte> workspace, DType dtype, const Shape& shape)
      : weight{nullptr, dtype, shape} {
    Scratch scratch(workspace);
    weight.data = scratch.take<std::byte>(static_cast<std::int64_t>(weight.bytes()));
    rest = workspace.subspan(scratch.used());
  }
  Tensor weight;
  std::span<std::byte> rest;
};

std::size_t bytes_of(DType dtype, const Shape& shape) {
  return aligned(Tensor{nullptr, dtype, shape}.bytes());
}

/// Gives a convolution the weight that follows from g and v, in the dtype of its input.
template <typename Operation>
void take_normed_weight(Operation& op, DType dtype, Context& context, const Params& params) {
  const NormedWeight normed(context.workspace, dtype, op.geometry.weight_shape());
  context.backend.run(context.stream,
                      WeightNormForward{params.weights[kV], params.weights[kG], normed.weight});
  op.weight_OCK = normed.weight;
  op.workspace = normed.rest;
}

}  // namespace

Conv1d::Conv1d(Conv1dOptions options) : options_(std::move(options)) {
  const Conv1dOptions& o = options_;
  for (const std::int64_t size :
       {o.in_channels, o.out_channels, o.groups, o.kernel, o.stride, o.dilation})
    if (size < 1)
      throw ShapeError(fmt::format(
          "convolution {}: channels, groups, kernel, stride and dilation must be positive, found "
          "{} to {} channels, {} groups, kernel {}, stride {}, dilation {}",
          name(), o.in_channels, o.out_channels, o.groups, o.kernel, o.stride, o.dilation));
  if (o.in_channels % o.groups != 0 || o.out_channels % o.groups != 0)
    throw ShapeError(fmt::format("convolution {}: {} do not divide {} to {} channels evenly",
                                 name(), counted(o.groups, "group"), o.in_channels,
                                 o.out_channels));
  const std::int64_t field = geometry({}).field();
  if (o.left < 0 || o.right < 0 || o.left + o.right >= field)
    throw ShapeError(fmt::format(
        "convolution {}: it puts {} and {} frames of zeros before and after; neither may be "
        "negative, and together they must be fewer than the {} that an output sees",
        name(), o.left, o.right, field));
}

Conv1dGeometry Conv1d::geometry(std::span<const std::int64_t> lengths) const {
  return {.in_channels = options_.in_channels,
          .out_channels = options_.out_channels,
          .groups = options_.groups,
          .kernel = options_.kernel,
          .stride = options_.stride,
          .dilation = options_.dilation,
          .left = options_.left,
          .right = options_.right,
          .lengths = lengths};
}

// The bias comes last, after one or two tensors of weights. A uniform distribution within ±b has a
// standard deviation of b / √3.
void Conv1d::declare_params(LayerPlan& plan) const {
  const Conv1dGeometry g = geometry({});
  const auto taps = static_cast<double>(g.group_in() * g.kernel);
  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(taps)};
  if (options_.weight_norm) {
    // Expected ‖v‖ of a tap with uniform numbers: √(out · in · bound² / 3).
    const double length = std::sqrt(static_cast<double>(g.out_channels * g.group_in()) / 3 / taps);
    plan.params.push_back(
        {name() + ".weight_g", {1, 1, g.kernel}, {Initialiser::Kind::constant, length}, true});
    plan.params.push_back({name() + ".weight_v", g.weight_shape(), start});
  } else {
    const Initialiser given{Initialiser::Kind::uniform, std::sqrt(3.0) * options_.deviation};
    plan.params.push_back(
        {name() + ".weight", g.weight_shape(), options_.deviation > 0 ? given : start});
  }
  if (options_.bias) plan.params.push_back({name() + ".bias", {g.out_channels}, start});
}

// Carried are v, in the dtype of activations in which layers get it, and g, which stays in full
// precision. The gradient of the normed weight is a sum and has the sums' dtype.
void Conv1d::declare_weight_norm(LayerPlan& plan, const ActivationDecl& input) const {
  const Conv1dGeometry g = geometry({});
  const DType sums = arithmetic_of(input.dtype);
  plan.saved.push_back({SavedDecl::Kind::own, Life::carried, input.dtype, g.weight_shape()});
  plan.saved.push_back({SavedDecl::Kind::own, Life::carried, sums, {1, 1, g.kernel}});
  const std::size_t weight = bytes_of(input.dtype, g.weight_shape());
  plan.workspace.forward += weight;
  plan.workspace.backward_input += weight;
  plan.workspace.backward_weight += bytes_of(sums, g.weight_shape());
}

/// Returns the memory for FP32 copies: those of the convolution or, if larger, of weight
/// normalisation.
Workspace Conv1d::copies(const BackendSizes& sizes, const FramesDecl& x,
                         const FramesDecl& y) const {
  const std::int64_t in = element_count(x.shape()), out = element_count(y.shape()),
                     taps = element_count(geometry({}).weight_shape()),
                     bias = options_.bias ? y.channels : 0;
  const std::size_t norm = options_.weight_norm ? widened(sizes, {taps, taps}) : 0;
  return {std::max(widened(sizes, {in, taps, bias, out}), norm),
          std::max(widened(sizes, {out, taps, in}), norm),
          std::max(widened(sizes, {in, out}), widened(sizes, {options_.weight_norm ? taps : 0}))};
}

// All three passes multiply each weight once for each output frame, so they cost the same.
LayerPlan Conv1d::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const Conv1dGeometry g = geometry(x.lengths);
  if (x.channels != g.in_channels)
    throw ShapeError(fmt::format("convolution {} was given {}, expected {}", name(),
                                 counted(x.channels, "channel"), g.in_channels));
  LayerPlan plan;
  plan.output = {input.dtype, {{g.out_lengths(), g.out_channels}}};
  declare_params(plan);
  plan.saved = {
      {.kind = SavedDecl::Kind::input, .for_weights = true},
      {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried, .for_weights = true}};
  plan.workspace = conv1d_workspace(sizes, g);
  if (options_.weight_norm) declare_weight_norm(plan, input);
  add_copies(plan.workspace, copies(sizes, input.only(), plan.output.only()));
  const auto products = static_cast<double>(g.out_channels * g.group_in() * g.kernel);
  const double pass = 2 * products * static_cast<double>(plan.output.only().rows());
  plan.flops = {pass, pass, pass};
  plan.work = Work::convolution;
  return plan;
}

void Conv1d::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                     Saved) const {
  Conv1dForward op{.geometry = geometry(context.lengths),
                   .x_FC = x.only().x_FC,
                   .weight_OCK = params.weights[0],
                   .y_FO = y.only().x_FC,
                   .workspace = context.workspace,
                   .bias_O = options_.bias ? params.weights.back() : Tensor{}};
  if (options_.weight_norm) take_normed_weight(op, op.x_FC.dtype, context, params);
  context.backend.run(context.stream, op);
}

void Conv1d::backward_input(Context& context, const Params& params, const Activation& dy,
                            Saved saved, Activation& dx) const {
  if (options_.weight_norm)
    // backward_weight does not get the weights, so v and g are carried to it.
    for (const auto& [kept, param] : {std::pair{kDirections, kV}, std::pair{kLengths, kG}})
      context.backend.copy(context.stream, saved[kept].data, params.weights[param].data,
                           saved[kept].bytes());
  if (dx.empty()) return;
  Conv1dBackwardInput op{.geometry = geometry(context.lengths),
                         .dy_FO = dy.only().x_FC,
                         .weight_OCK = params.weights[0],
                         .dx_FC = dx.only().x_FC,
                         .workspace = context.workspace};
  if (options_.weight_norm) take_normed_weight(op, op.dy_FO.dtype, context, params);
  context.backend.run(context.stream, op);
}

void Conv1d::backward_weight(Context& context, Saved saved, Grads grads) const {
  Conv1dBackwardWeight op{.geometry = geometry(context.lengths),
                          .x_FC = saved[kInput],
                          .dy_FO = saved[kOutputGradient],
                          .d_weight_OCK = grads[0],
                          .workspace = context.workspace};
  if (options_.weight_norm) {
    const NormedWeight gradient(context.workspace, grads[kV].dtype, grads[kV].shape);
    context.backend.zero(context.stream, gradient.weight.data, gradient.weight.bytes());
    op.d_weight_OCK = gradient.weight;
    op.workspace = gradient.rest;
  }
  context.backend.run(context.stream, op);
  if (options_.weight_norm)
    context.backend.run(context.stream, WeightNormBackward{saved[kDirections], saved[kLengths],
                                                           op.d_weight_OCK, grads[kV], grads[kG]});
  if (options_.bias)
    context.backend.run(context.stream, BiasBackwardWeight{saved[kOutputGradient], grads.back()});
}

}  // namespace penstock::layers
