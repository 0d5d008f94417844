#include "layers/nn/clipped_relu.h"

#include <utility>

#include "layers/backend.h"
#include "layers/ops/clipped_relu.h"
#include "layers/widened.h"

namespace penstock::layers {

ClippedReLU::ClippedReLU(std::string name, double bound) : name_(std::move(name)), bound_(bound) {}

LayerPlan ClippedReLU::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  plan.saved = {{SavedDecl::Kind::output, Life::to_backward_input}};
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {2 * count, 2 * count, 0};
  return plan;
}

void ClippedReLU::forward(Context& context, const Params&, const Activation& x, Activation& y,
                          Saved) const {
  context.backend.run(context.stream, ClippedReluForward{x.only().x_FC, y.only().x_FC, bound_});
}

void ClippedReLU::backward_input(Context& context, const Params&, const Activation& dy, Saved saved,
                                 Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      ClippedReluBackward{saved[0], dy.only().x_FC, dx.only().x_FC, bound_});
}

}  // namespace penstock::layers
