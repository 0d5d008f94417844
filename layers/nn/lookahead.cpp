#include "layers/nn/lookahead.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/lookahead.h"

namespace penstock::layers {
namespace {

enum LookaheadSaved { kInput, kOutputGradient };  // in LayerPlan::saved

}  // namespace

Lookahead::Lookahead(LookaheadOptions options) : options_(std::move(options)) {}

LayerPlan Lookahead::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const std::int64_t C = options_.channels, K = options_.context;
  if (input.only().channels != C)
    throw ShapeError(fmt::format("lookahead layer {} was given {} channels, expected {}", name(),
                                 input.only().channels, C));
  LayerPlan plan;
  plan.output = input;
  const double bound = 1 / std::sqrt(static_cast<double>(K));
  plan.params = {{name() + ".weight", {C, K}, {Initialiser::Kind::uniform, bound}}};
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_weight},
                {SavedDecl::Kind::output_gradient, Life::carried}};
  const std::size_t scratch = lookahead_workspace(C, K, sizes.compute);
  plan.workspace = {scratch, scratch, scratch};
  const double work = 2.0 * static_cast<double>(input.only().rows() * C * K);
  plan.flops = {work, work, work};
  return plan;
}

void Lookahead::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                        Saved) const {
  context.backend.run(context.stream,
                      LookaheadForward{x.only().x_FC, y.only().x_FC, params.weights[0],
                                       context.lengths, context.workspace});
}

void Lookahead::backward_input(Context& context, const Params& params, const Activation& dy, Saved,
                               Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      LookaheadBackwardInput{dy.only().x_FC, dx.only().x_FC, params.weights[0],
                                             context.lengths, context.workspace});
}

void Lookahead::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream,
                      LookaheadBackwardWeight{saved[kInput], saved[kOutputGradient], grads[0],
                                              context.lengths, context.workspace});
}

}  // namespace penstock::layers
