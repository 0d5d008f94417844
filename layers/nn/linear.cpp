#include "layers/nn/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/linear.h"

namespace penstock::layers {
namespace {

enum LinearSaved { kInput, kOutputGradient };

}  // namespace

LayerPlan Linear::plan(const ActivationDecl& input, const BackendSizes&) const {
  const FramesDecl& x = input.only();
  const auto& [name, in, out, bias, bound] = options_;
  if (x.channels != in)
    throw ShapeError(
        fmt::format("linear layer {} was given {} channels, expected {}", name, x.channels, in));

  const Initialiser start{Initialiser::Kind::uniform,
                          bound > 0 ? bound : 1 / std::sqrt(static_cast<double>(in))};
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, out}}};
  plan.params.push_back({name + ".weight", {out, in}, start});
  if (bias) plan.params.push_back({name + ".bias", {out}, start});
  plan.saved = {{.kind = SavedDecl::Kind::input, .life = Life::to_backward_weight},
                {.kind = SavedDecl::Kind::output_gradient, .life = Life::carried}};
  const double product = 2.0 * static_cast<double>(x.rows() * in * out);
  plan.flops = {product, product, product};
  plan.work = Work::product;
  return plan;
}

void Linear::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                     Saved) const {
  context.backend.run(context.stream,
                      LinearForward{.x_FI = x.only().x_FC,
                                    .w_OI = params.weights[0],
                                    .b_O = options_.bias ? params.weights[1] : Tensor{},
                                    .y_FO = y.only().x_FC});
}

void Linear::backward_input(Context& context, const Params& params, const Activation& dy, Saved,
                            Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream, LinearBackwardInput{.dy_FO = dy.only().x_FC,
                                                          .w_OI = params.weights[0],
                                                          .dx_FI = dx.only().x_FC});
}

void Linear::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream,
                      LinearBackwardWeight{.x_FI = saved[kInput],
                                           .dy_FO = saved[kOutputGradient],
                                           .dw_OI = grads[0],
                                           .db_O = options_.bias ? grads[1] : Tensor{}});
}

}  // namespace penstock::layers
