#include "layers/nn/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/linear.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/linear.h, three products of equal cost:
//   y = x · W^T + b;  dx = dy · W;  dW += dy^T · x, db += column sums of dy
// It saves x and carries dy to backward_weight, and has no saved tensor of its own: other layers
// that ask for these two share them. Rows are contiguous, so a row of several parts is as many rows
// of one part, and the same products serve a 1 × 1 convolution over frequencies.
//
// Some outputs may have no bias, as the keys among q, k and v in Whisper. Operations get a bias of
// all outputs, which is laid out in scratch, with zeros where there is none.

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
  const auto& [name, in, out, bias, bound, parts, first_unbiased, unbiased] = options_;
  if (x.channels != parts * in)
    throw ShapeError(fmt::format("linear layer {} was given {} channels, expected {}", name,
                                 x.channels, parts * in));
  if (first_unbiased < 0 || unbiased < 0 || first_unbiased + unbiased > out)
    throw ShapeError(fmt::format("linear layer {} has {} outputs, but {} from {} on without a bias",
                                 name, out, unbiased, first_unbiased));

  const Initialiser start{Initialiser::Kind::uniform,
                          bound > 0 ? bound : 1 / std::sqrt(static_cast<double>(in))};
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, parts * out}}};
  plan.params.push_back({name + ".weight", {out, in}, start});
  if (bias) plan.params.push_back({name + ".bias", {biased()}, start});
  plan.saved = {
      {.kind = SavedDecl::Kind::input, .for_weights = true},
      {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried, .for_weights = true}};
  const double product = 2.0 * static_cast<double>(x.rows() * parts * in * out);
  plan.flops = {product, product, product};
  plan.work = Work::product;
  plan.cache_channels = 0;
  const std::int64_t rows = x.rows() * parts, weight = out * in;
  if (bias && !has_all_biases()) {
    Scratch forward, backward;
    (void)tensor_in(forward, sizes.compute, {out});
    (void)tensor_in(backward, arithmetic_of(sizes.compute), {out});
    plan.workspace = {forward.used(), 0, backward.used()};
  }
  add_copies(plan.workspace, {widened(sizes, {rows * in, weight, bias ? out : 0, rows * out}),
                              widened(sizes, {rows * out, weight, rows * in}),
                              widened(sizes, {rows * in, rows * out})});
  return plan;
}

/// Returns the bias of all outputs; without data if there is none.
Tensor Linear::bias_of(Context& context, const Params& params, Scratch& scratch) const {
  if (!options_.bias) return {};
  const Tensor& given = params.weights[1];
  if (has_all_biases()) return given;
  Tensor all_O = tensor_in(scratch, given.dtype, {options_.out});
  context.backend.zero(context.stream, all_O.data, all_O.bytes());
  const auto copy = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    const Tensor part = rows(given, from, count);
    if (count > 0)
      context.backend.copy(context.stream, rows(all_O, to, count).data, part.data, part.bytes());
  };
  const std::int64_t before = options_.first_unbiased;
  copy(0, 0, before);
  copy(before, before + options_.unbiased, biased() - before);
  return all_O;
}

void Linear::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                     Saved) const {
  Scratch scratch(context.workspace);
  context.backend.run(context.stream,
                      LinearForward{.x_FI = part_rows(x.only().x_FC, options_.parts),
                                    .w_OI = params.weights[0],
                                    .b_O = bias_of(context, params, scratch),
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
  Scratch scratch(context.workspace);
  const bool in_parts = options_.bias && !has_all_biases();
  Tensor db_O = options_.bias ? grads[1] : Tensor{};
  if (in_parts) {
    db_O = tensor_in(scratch, grads[1].dtype, {options_.out});
    context.backend.zero(context.stream, db_O.data, db_O.bytes());
  }
  context.backend.run(
      context.stream,
      LinearBackwardWeight{.x_FI = part_rows(saved[kInput], options_.parts),
                           .dy_FO = part_rows(saved[kOutputGradient], options_.parts),
                           .dw_OI = grads[0],
                           .db_O = db_O});
  if (!in_parts) return;
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    const Tensor sum = rows(grads[1], to, count);
    if (count > 0)
      context.backend.run(context.stream, AddScaled{sum, rows(db_O, from, count), sum});
  };
  const std::int64_t before = options_.first_unbiased;
  add(0, 0, before);
  add(before + options_.unbiased, before, biased() - before);
}

}  // namespace penstock::layers
