#include "layers/nn/lora_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/linear.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// The update runs beside the frozen product, through `rank` channels R, with s = alpha / rank:
//   forward          h_FR = s · dropout(x) · A^T;  y = x · W^T + b + h · B^T
//   backward_input   dh_FR = s · dy · B;           dx = dy · W + dropout'(dh · A)
//   backward_weight  dA += dh^T · dropout(x);      dB += dy^T · h
// h and dh are small and kept for backward_weight; dropout(x) is sampled again. The products of the
// update cost 2 · R · (in + out) operations for each frame and method, and no gradient of W is
// computed. A, B, h and dh have the type in which layers compute.

namespace penstock::layers {
namespace {

enum LoraSaved { kInput, kHidden, kOutputGradient, kHiddenGradient };

}  // namespace

LoraLinear::LoraLinear(const Linear& linear, const LoraOptions& options)
    : linear_(linear),
      options_(options),
      dropout_(linear.name() + ".lora_dropout", options.dropout) {
  if (options.rank < 1)
    throw ShapeError(
        fmt::format("{} is adapted with rank {}; it must be at least 1", name(), options.rank));
  if (linear.options().parts != 1)
    throw ShapeError(fmt::format("{} multiplies {} parts of a row each, which can't be adapted",
                                 name(), linear.options().parts));
}

LayerPlan LoraLinear::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan = linear_.plan(input, sizes);
  const FramesDecl& x = input.only();
  const std::int64_t in = linear_.options().in, out = linear_.options().out, R = options_.rank;
  for (ParamDecl& param : plan.params) param.rate = 0;
  for (ParamDecl& param : plan.params) param.summed = false;
  const Initialiser uniform{Initialiser::Kind::uniform, 1 / std::sqrt(static_cast<double>(in))};
  plan.params.push_back({fmt::format("{}{}", name(), kLoraA), {R, in}, uniform});
  plan.params.push_back(
      {fmt::format("{}{}", name(), kLoraB), {out, R}, {Initialiser::Kind::constant, 0}});
  plan.saved = {
      {.kind = SavedDecl::Kind::input, .for_weights = true},
      {SavedDecl::Kind::own, Life::to_backward_weight, input.dtype, {x.rows(), R}},
      {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried, .for_weights = true},
      {SavedDecl::Kind::own, Life::carried, input.dtype, {x.rows(), R}}};
  const double update = 2.0 * static_cast<double>(x.rows() * R * (in + out));
  plan.flops = {plan.flops.forward + update, plan.flops.backward_input + update, update};
  plan.workspace = workspace(x, sizes);
  return plan;
}

// Each method takes its scratch from the front of its workspace. The backend takes copies of 16-bit
// operands from the end, for one operation at a time.
Workspace LoraLinear::workspace(const FramesDecl& x, const BackendSizes& sizes) const {
  const std::int64_t in = linear_.options().in, out = linear_.options().out, R = options_.rank;
  const std::int64_t rows = x.rows();
  const bool drops = options_.dropout > 0;
  Scratch forward, backward_input, backward_weight;
  if (drops) (void)tensor_in(forward, sizes.compute, {rows, in});
  (void)tensor_in(forward, sizes.compute, {rows, R});  // h in evaluation
  (void)tensor_in(forward, sizes.compute, {rows, out});
  (void)tensor_in(backward_input, sizes.compute, {rows, in});
  if (drops) (void)tensor_in(backward_weight, sizes.compute, {rows, in});
  const std::size_t down = widened(sizes, {rows * in, R * in, rows * R});
  const std::size_t up = widened(sizes, {rows * R, out * R, rows * out});
  const std::size_t into_x = widened(sizes, {rows * in, rows * in, rows * in});
  const std::size_t into_y = widened(sizes, {rows * out, rows * out, rows * out});
  const LayerPlan linear = linear_.plan({sizes.compute, {x}}, sizes);
  Workspace total{std::max({linear.workspace.forward, down, up, into_x, into_y}),
                  std::max({linear.workspace.backward_input, down, up, into_x}),
                  std::max({down, up, into_x})};
  total.forward += forward.used();
  total.backward_input += backward_input.used();
  total.backward_weight += backward_weight.used();
  return total;
}

bool LoraLinear::drops(const Context& context) const {
  return options_.dropout > 0 && context.mode == Mode::train;
}

Tensor LoraLinear::dropped(Context& context, const Frames& x, Scratch& scratch) const {
  if (!drops(context)) return x.x_FC;
  Activation from{{x}}, to{{{tensor_in(scratch, x.x_FC.dtype, x.x_FC.shape), x.lengths}}};
  dropout_.forward(context, {}, from, to, {});
  return to.only().x_FC;
}

void LoraLinear::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                         Saved saved) const {
  const auto [a, b] = std::pair{params.weights[params.weights.size() - 2], params.weights.back()};
  const Tensor y_FC = y.only().x_FC;
  const Shape hidden{x.only().rows(), options_.rank};
  linear_.forward(context, params, x, y, {});  // its scratch is free again after it
  Scratch scratch(context.workspace);
  const Tensor dropped_FC = dropped(context, x.only(), scratch);
  const Tensor h_FR = saved.empty() ? tensor_in(scratch, y_FC.dtype, hidden) : saved[kHidden];
  const Tensor update_FC = tensor_in(scratch, y_FC.dtype, y_FC.shape);
  const auto run = [&](const auto& operation) { context.backend.run(context.stream, operation); };
  run(LinearForward{.x_FI = dropped_FC, .w_OI = a, .b_O = {}, .y_FO = h_FR});
  run(AddScaled{{}, h_FR, h_FR, options_.alpha / static_cast<double>(options_.rank)});
  run(LinearForward{.x_FI = h_FR, .w_OI = b, .b_O = {}, .y_FO = update_FC});
  run(AddScaled{y_FC, update_FC, y_FC});
}

void LoraLinear::backward_input(Context& context, const Params& params, const Activation& dy,
                                Saved saved, Activation& dx) const {
  const auto [a, b] = std::pair{params.weights[params.weights.size() - 2], params.weights.back()};
  const auto run = [&](const auto& operation) { context.backend.run(context.stream, operation); };
  const Tensor& dh_FR = saved[kHiddenGradient];
  run(LinearBackwardInput{.dy_FO = dy.only().x_FC, .w_OI = b, .dx_FI = dh_FR});
  run(AddScaled{{}, dh_FR, dh_FR, options_.alpha / static_cast<double>(options_.rank)});
  if (dx.empty()) return;
  Scratch scratch(context.workspace);
  const Tensor dx_FC = dx.only().x_FC;
  Activation update{{{tensor_in(scratch, dx_FC.dtype, dx_FC.shape), dx.only().lengths}}};
  linear_.backward_input(context, params, dy, {}, dx);
  run(LinearBackwardInput{.dy_FO = dh_FR, .w_OI = a, .dx_FI = update.only().x_FC});
  if (drops(context)) dropout_.backward_input(context, {}, update, {}, update);
  run(AddScaled{dx_FC, update.only().x_FC, dx_FC});
}

void LoraLinear::backward_weight(Context& context, Saved saved, Grads grads) const {
  Scratch scratch(context.workspace);
  const Tensor dropped_FC = dropped(context, {saved[kInput], context.lengths}, scratch);
  const auto add = [&](const Tensor& from, const Tensor& gradient, const Tensor& sum) {
    context.backend.run(
        context.stream,
        LinearBackwardWeight{.x_FI = from, .dy_FO = gradient, .dw_OI = sum, .db_O = {}});
  };
  add(dropped_FC, saved[kHiddenGradient], grads[grads.size() - 2]);
  add(saved[kHidden], saved[kOutputGradient], grads.back());
}

}  // namespace penstock::layers
