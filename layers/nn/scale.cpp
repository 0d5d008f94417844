#include "layers/nn/scale.h"

#include "layers/backend.h"
#include "layers/ops/add_scaled.h"
#include "layers/widened.h"

namespace penstock::layers {

LayerPlan Scale::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {count, count, 0};
  return plan;
}

void Scale::forward(Context& context, const Params&, const Activation& x, Activation& y,
                    Saved) const {
  context.backend.run(context.stream, AddScaled{{}, x.only().x_FC, y.only().x_FC, factor_});
}

void Scale::backward_input(Context& context, const Params&, const Activation& dy, Saved,
                           Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream, AddScaled{{}, dy.only().x_FC, dx.only().x_FC, factor_});
}

}  // namespace penstock::layers
