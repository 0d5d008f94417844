#include "layers/nn/nonlinearity.h"

#include "layers/backend.h"
#include "layers/widened.h"

namespace penstock::layers {

LayerPlan Nonlinearity::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input}};
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {10 * count, 20 * count, 0};
  plan.cheap_to_recompute = true;
  return plan;
}

void Nonlinearity::forward(Context& context, const Params&, const Activation& x, Activation& y,
                           Saved) const {
  context.backend.run(context.stream, NonlinearityForward{kind_, x.only().x_FC, y.only().x_FC});
}

void Nonlinearity::backward_input(Context& context, const Params&, const Activation& dy,
                                  Saved saved, Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      NonlinearityBackward{kind_, saved[0], dy.only().x_FC, dx.only().x_FC});
}

}  // namespace penstock::layers
