#include "layers/nn/conv2d.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/nn/pieces.h"
#include "layers/ops/linear.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/conv2d.h. It saves its input and carries its
// output's gradient, which the residual unit or stage keeps once for all layers that ask for them.
// Each pass multiplies every window by every output channel's weights, so all three have the same
// cost. A depthwise convolution does so little for each number it reads that it counts as
// elementwise work.

namespace penstock::layers {
namespace {

enum Conv2dSaved { kInput, kOutputGradient };

}  // namespace

// The last line asks for the output's frequencies only to refuse a kernel that is larger than the
// padded input.
Conv2d::Conv2d(Conv2dOptions options) : options_(std::move(options)) {
  const auto& [name, in, out, frequencies, frequency, time, bias, depthwise, piece] = options_;
  for (const Conv2dAxis& axis : {frequency, time})
    if (axis.kernel < 1 || axis.stride < 1 || axis.padding < 0)
      throw ShapeError(
          fmt::format("convolution {}: kernel {} and stride {} must be positive and padding {} not "
                      "negative",
                      name, axis.kernel, axis.stride, axis.padding));
  if (in < 1 || out < 1 || frequencies < 1)
    throw ShapeError(
        fmt::format("convolution {} needs channels and frequencies, found {} input channels, {} "
                    "output channels and {} frequencies",
                    name, in, out, frequencies));
  if (piece < 0)
    throw ShapeError(
        fmt::format("convolution {} has pieces of {} frames; 0 is the least", name, piece));
  if (depthwise && in != out)
    throw ShapeError(
        fmt::format("depthwise convolution {} makes {} channels of {}", name, out, in));
  out_frequencies();
}

Conv2dGeometry Conv2d::geometry(std::span<const std::int64_t> lengths) const {
  return {.in_channels = options_.in_channels,
          .out_channels = options_.out_channels,
          .frequency = options_.frequency,
          .time = options_.time,
          .in_frequencies = options_.in_frequencies,
          .lengths = lengths,
          .depthwise = options_.depthwise};
}

std::vector<std::int64_t> Conv2d::out_lengths(std::span<const std::int64_t> lengths) const {
  std::vector<std::int64_t> out;
  for (const std::int64_t frames : lengths) {
    const auto pieces = options_.time.outputs(pieces_of({&frames, 1}, options_.piece));
    out.push_back(std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}));
  }
  return out;
}

LayerPlan Conv2d::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::vector<std::int64_t> pieces = pieces_of(x.lengths, options_.piece);
  const Conv2dGeometry g = geometry(pieces);
  if (x.channels != g.in_columns())
    throw ShapeError(
        fmt::format("convolution {} was given rows of {} numbers, expected {} frequencies of {}",
                    name(), x.channels, g.in_frequencies, counted(g.in_channels, "channel")));

  const double window =
      static_cast<double>((g.depthwise ? 1 : g.in_channels) * g.frequency.kernel * g.time.kernel);
  LayerPlan plan;
  plan.output = {input.dtype, {{out_lengths(x.lengths), g.out_columns()}}};
  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(window)};
  plan.params.push_back({name() + ".weight", g.weight_shape(), start});
  if (options_.bias) plan.params.push_back({name() + ".bias", {g.out_channels}, start});
  plan.saved = {
      {.kind = SavedDecl::Kind::input, .for_weights = true},
      {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried, .for_weights = true}};
  plan.workspace = conv2d_sizes(sizes, g);
  const std::int64_t in = x.rows() * x.channels, taps = element_count(g.weight_shape()),
                     out = element_count(plan.output.only().shape());
  const std::int64_t bias = options_.bias ? g.out_channels : 0;
  add_copies(plan.workspace, {widened(sizes, {in, taps, bias, out}),
                              widened(sizes, {out, taps, in}), widened(sizes, {in, out})});
  const double pass = 2 * window * static_cast<double>(plan.output.only().rows() * g.out_columns());
  plan.flops = {pass, pass, pass};
  plan.work = g.depthwise ? Work::elementwise : Work::convolution;
  return plan;
}

void Conv2d::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                     Saved) const {
  const std::vector<std::int64_t> pieces = pieces_of(context.lengths, options_.piece);
  context.backend.run(context.stream,
                      Conv2dForward{.geometry = geometry(pieces),
                                    .x_FC = x.only().x_FC,
                                    .weight = params.weights[0],
                                    .y_FC = y.only().x_FC,
                                    .workspace = context.workspace,
                                    .bias_O = options_.bias ? params.weights[1] : Tensor{}});
}

void Conv2d::backward_input(Context& context, const Params& params, const Activation& dy, Saved,
                            Activation& dx) const {
  if (dx.empty()) return;
  const std::vector<std::int64_t> pieces = pieces_of(context.lengths, options_.piece);
  context.backend.run(context.stream, Conv2dBackwardInput{.geometry = geometry(pieces),
                                                          .dy_FC = dy.only().x_FC,
                                                          .weight = params.weights[0],
                                                          .dx_FC = dx.only().x_FC,
                                                          .workspace = context.workspace});
}

// The bias's gradient is an operation of its own: the sum of dy over frames and frequencies.
void Conv2d::backward_weight(Context& context, Saved saved, Grads grads) const {
  const std::vector<std::int64_t> pieces = pieces_of(context.lengths, options_.piece);
  context.backend.run(context.stream, Conv2dBackwardWeight{.geometry = geometry(pieces),
                                                           .x_FC = saved[kInput],
                                                           .dy_FC = saved[kOutputGradient],
                                                           .dweight = grads[0],
                                                           .workspace = context.workspace});
  if (options_.bias)
    context.backend.run(context.stream, BiasBackwardWeight{saved[kOutputGradient], grads[1]});
}

}  // namespace penstock::layers
