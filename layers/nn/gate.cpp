#include "layers/nn/gate.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/error.h"
#include "layers/backend.h"
#include "layers/widened.h"

namespace penstock::layers {

LayerPlan Gate::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (x.channels % 2 != 0)
    throw ShapeError(fmt::format("{} halves its channels, but its input has {}", name_,
                                 counted(x.channels, "channel")));
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, x.channels / 2}}};
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input}};
  const std::int64_t n = x.rows() * x.channels / 2;
  plan.workspace = {widened(sizes, {2 * n, n}), widened(sizes, {2 * n, n, 2 * n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {10 * count, 20 * count, 0};
  plan.cheap_to_recompute = true;
  return plan;
}

void Gate::forward(Context& context, const Params&, const Activation& x, Activation& y,
                   Saved) const {
  context.backend.run(context.stream, GateForward{kind_, x.only().x_FC, y.only().x_FC});
}

void Gate::backward_input(Context& context, const Params&, const Activation& dy, Saved saved,
                          Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      GateBackward{kind_, saved[0], dy.only().x_FC, dx.only().x_FC});
}

}  // namespace penstock::layers
