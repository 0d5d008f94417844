#include "layers/nn/lookahead.h"

#include <cmath>
#include <utility>
#include <vector>

#include "layers/backend.h"
#include "layers/ops/lookahead.h"
#include "layers/tensor/error.h"

namespace penstock {
namespace {

enum Place { kInput, kLengths, kOutputGradient };  // in LayerPlan::saved

}  // namespace

Lookahead::Lookahead(LookaheadOptions options) : options_(std::move(options)) {}

LayerPlan Lookahead::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const std::int64_t C = options_.channels, K = options_.context;
  if (input.only().channels != C)
    throw ShapeError(name() + " takes " + std::to_string(C) + " channels and was given " +
                     std::to_string(input.only().channels));
  LayerPlan plan;
  plan.output = input;
  const double bound = 1 / std::sqrt(static_cast<double>(K));
  plan.params = {{name() + ".weight", {C, K}, {Initialiser::Kind::uniform, bound}}};
  const auto utterances = static_cast<std::int64_t>(input.only().lengths.size());
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_weight},
                {SavedDecl::Kind::own, Life::to_backward_weight, DType::i64, {utterances}},
                {SavedDecl::Kind::output_gradient, Life::carried}};
  const std::size_t scratch = lookahead_workspace(C, K, sizes.compute);
  plan.workspace = {scratch, scratch, scratch};
  const double work = 2.0 * static_cast<double>(input.only().rows() * C * K);
  plan.flops = {work, work, work};
  return plan;
}

void Lookahead::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                        Saved saved) const {
  const auto lengths = x.only().lengths;
  if (context.mode == Mode::train)
    context.backend.copy_in(context.stream, saved[kLengths].data, lengths.data(),
                            lengths.size_bytes());
  context.backend.run(context.stream,
                      LookaheadForward{x.only().x_FC, y.only().x_FC, params.weights[0], lengths,
                                       context.workspace});
}

void Lookahead::backward_input(Context& context, const Params& params, const Activation& dy, Saved,
                               Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      LookaheadBackwardInput{dy.only().x_FC, dx.only().x_FC, params.weights[0],
                                             dy.only().lengths, context.workspace});
}

void Lookahead::backward_weight(Context& context, Saved saved, Grads grads) const {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(saved[kLengths].size()));
  context.backend.copy_out(context.stream, lengths.data(), saved[kLengths].data,
                           lengths.size() * sizeof(std::int64_t));
  context.backend.finish(context.stream);
  context.backend.run(context.stream,
                      LookaheadBackwardWeight{saved[kInput], saved[kOutputGradient], grads[0],
                                              lengths, context.workspace});
}

}  // namespace penstock
