#include "layers/nn/scale.h"

#include "layers/backend.h"
#include "layers/ops/add_scaled.h"

namespace penstock::layers {

LayerPlan Scale::plan(const ActivationDecl& input, const BackendSizes&) const {
  LayerPlan plan;
  plan.output = input;
  const auto count = static_cast<double>(element_count(input.only().shape()));
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
