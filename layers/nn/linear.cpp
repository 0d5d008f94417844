#include "layers/nn/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/linear.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/linear.h, three products of equal cost:
//   y = x · W^T + b;  dx = dy · W;  dW += dy^T · x, db += column sums of dy
// It saves x and carries dy to backward_weight, and has no saved tensor of its own: other layers
// that ask for these two share them. Rows are contiguous, so a row of several parts is as many rows
// of one part, and the same products serve a 1 × 1 convolution over frequencies.

namespace penstock::layers {
namespace {

enum LinearSaved { kInput, kOutputGradient };

/// Views the parts of rows as rows of their own.
Tensor part_rows(Tensor x_FC, std::int64_t parts) {
  x_FC.shape = {x_FC.shape.at(0) * parts, x_FC.shape.at(1) / parts};
  return x_FC;
}

}  // namespace

LayerPlan Linear::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const auto& [name, in, out, bias, bound, parts] = options_;
  if (x.channels != parts * in)
    throw ShapeError(fmt::format("linear layer {} was given {} channels, expected {}", name,
                                 x.channels, parts * in));

  const Initialiser start{Initialiser::Kind::uniform,
                          bound > 0 ? bound : 1 / std::sqrt(static_cast<double>(in))};
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, parts * out}}};
  plan.params.push_back({name + ".weight", {out, in}, start});
  if (bias) plan.params.push_back({name + ".bias", {out}, start});
  plan.saved = {
      {.kind = SavedDecl::Kind::input, .for_weights = true},
      {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried, .for_weights = true}};
  const double product = 2.0 * static_cast<double>(x.rows() * parts * in * out);
  plan.flops = {product, product, product};
  plan.work = Work::product;
  plan.cache_channels = 0;
  const std::int64_t rows = x.rows() * parts, weight = out * in;
  plan.workspace = {widened(sizes, {rows * in, weight, bias ? out : 0, rows * out}),
                    widened(sizes, {rows * out, weight, rows * in}),
                    widened(sizes, {rows * in, rows * out})};
  return plan;
}

void Linear::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                     Saved) const {
  context.backend.run(context.stream,
                      LinearForward{.x_FI = part_rows(x.only().x_FC, options_.parts),
                                    .w_OI = params.weights[0],
                                    .b_O = options_.bias ? params.weights[1] : Tensor{},
                                    .y_FO = part_rows(y.only().x_FC, options_.parts)});
}

void Linear::backward_input(Context& context, const Params& params, const Activation& dy, Saved,
                            Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      LinearBackwardInput{.dy_FO = part_rows(dy.only().x_FC, options_.parts),
                                          .w_OI = params.weights[0],
                                          .dx_FI = part_rows(dx.only().x_FC, options_.parts)});
}

void Linear::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(
      context.stream,
      LinearBackwardWeight{.x_FI = part_rows(saved[kInput], options_.parts),
                           .dy_FO = part_rows(saved[kOutputGradient], options_.parts),
                           .dw_OI = grads[0],
                           .db_O = options_.bias ? grads[1] : Tensor{}});
}

}  // namespace penstock::layers
