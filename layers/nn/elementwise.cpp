#include "layers/nn/elementwise.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "layers/philox.h"
#include "layers/widened.h"

// A layer saves the one tensor from which its slope follows:
//   ClippedReLU    y   dx = dy where 0 < y < bound
//   Nonlinearity   x   dx = dy · f'(x)
//   Gate           x   both halves of dx follow from dy and both halves of x
//   Scale          -   dx = factor · dy
//   Dropout        -   dx = dy / (1 - p) where x was not dropped
// If the next layer saves its input y, a layer that saves x would keep two tensors alive. Such
// layers, and dropout, are therefore cheap_to_recompute: backward makes y from x again. ClippedReLU
// saves y itself, so it has nothing to gain. Operations are estimates: an exponential or error
// function counts about ten.

namespace penstock::layers {
namespace {

/// Returns the mask of these frames. It is a function of seed, epoch, utterances and the layer's
/// name, so forward, recomputation and backward sample the same.
DropoutMask mask_of(const Context& context, const Frames& frames, const std::string& layer,
                    double probability) {
  if (context.random.utterances.size() != frames.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the frames of {}", layer,
                                 counted(context.random.utterances.size(), "utterance"),
                                 frames.lengths.size()));
  return {context.random, hash_of_name(layer), frames.lengths, probability};
}

}  // namespace

ClippedReLU::ClippedReLU(std::string name, double bound) : name_(std::move(name)), bound_(bound) {}

LayerPlan ClippedReLU::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  plan.saved = {{SavedDecl::Kind::output, Life::to_backward_input}};
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {2 * count, 2 * count, 0};
  plan.cache_channels = 0;
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

LayerPlan Nonlinearity::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input}};
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {10 * count, 20 * count, 0};
  plan.cache_channels = 0;
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
  plan.cache_channels = 0;
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

LayerPlan Scale::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {count, count, 0};
  plan.cache_channels = 0;
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

Dropout::Dropout(std::string name, double probability)
    : name_(std::move(name)), probability_(probability) {
  if (!(probability >= 0 && probability < 1))
    throw ShapeError(fmt::format("{} drops a share of {:g}; it must be at least 0 and less than 1",
                                 name_, probability));
}

LayerPlan Dropout::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {count, count, 0};
  plan.cache_channels = 0;
  plan.cheap_to_recompute = true;
  return plan;
}

void Dropout::forward(Context& context, const Params&, const Activation& x, Activation& y,
                      Saved) const {
  if (context.mode == Mode::evaluate)
    context.backend.run(context.stream, Cast{x.only().x_FC, y.only().x_FC});
  else
    context.backend.run(context.stream,
                        DropoutForward{x.only().x_FC, y.only().x_FC,
                                       mask_of(context, x.only(), name_, probability_)});
}

void Dropout::backward_input(Context& context, const Params&, const Activation& dy, Saved,
                             Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      DropoutBackward{dy.only().x_FC, dx.only().x_FC,
                                      mask_of(context, dy.only(), name_, probability_)});
}

}  // namespace penstock::layers
