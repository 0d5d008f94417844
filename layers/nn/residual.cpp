#include "layers/nn/residual.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/layer.h"
#include "layers/nn/cross_attention.h"
#include "layers/nn/residual_layout.h"
#include "layers/ops/elementwise.h"
#include "layers/widened.h"

namespace penstock::layers {

// A unit runs its parts over activations 0 … n (residual_layout.h). An activation that is saved
// lies in `saved`; one that only passes by lies in one of two scratch buffers, which alternate.
// Backward first recomputes, in order, the activations that the layout marks, and then runs the
// parts backwards. The workspace of a unit is these two buffers plus the largest workspace of a
// part.

namespace {

/// Returns the context of the parts, whose workspace is the rest after the unit's buffers.
Context part_context(const Context& context, const Scratch& scratch) {
  Context part = context;
  part.workspace = context.workspace.subspan(scratch.used());
  return part;
}

// Scratch of forward and of backward_input, which precedes that of the parts. Forward needs
// activations 1 … n - 1, since the last part writes y or a saved tensor. Backward needs gradients 1
// … n, of which n is scale · dy.
AlternatingBuffers forward_buffers(Scratch& scratch, const ResidualLayout& layout) {
  return {scratch, layout.activations, 1, layout.plans.size() - 1};
}
AlternatingBuffers backward_buffers(Scratch& scratch, const ResidualLayout& layout) {
  return {scratch, layout.activations, 1, layout.plans.size()};
}

/// Returns the columns of part `i` in all rows. A row of the unit is the rows of its parts, one
/// after the other.
std::vector<double> sums_of_part(const std::vector<LayerPlan>& plans, std::size_t i,
                                 std::span<const double> sums) {
  std::size_t first = 0, row = 0;
  for (std::size_t part = 0; part < plans.size(); ++part) {
    if (part == i) first = row;
    row += plans[part].sums;
  }
  return columns(sums, row, first, plans[i].sums);
}

/// Returns LayerPlan::cache_channels of a unit. The parts share one cache, so one of them may need
/// it.
std::optional<std::int64_t> cache_channels_of(const std::vector<LayerPlan>& plans) {
  std::int64_t channels = 0;
  for (const LayerPlan& part : plans) {
    if (!part.cache_channels || (channels > 0 && *part.cache_channels > 0)) return std::nullopt;
    channels += *part.cache_channels;
  }
  return channels;
}

}  // namespace

Residual::Residual(ResidualOptions options)
    : options_(std::move(options)), drop_(options_.name + ".layer_drop", options_.layer_drop) {
  if (options_.parts.empty())
    throw ShapeError(fmt::format("residual unit {} has no parts", options_.name));
}

ResidualLayout Residual::layout(const ActivationDecl& input, const BackendSizes& sizes) const {
  ResidualLayout inner(options_.parts, input, sizes, scales(), options_.recomputes_cheap);
  const FramesDecl &first = input.only(), &last = inner.activations.back().only();
  if (last != first)
    throw ShapeError(fmt::format("a residual unit ends with {} of {} channels, but begins with {}",
                                 options_.parts.back()->name(), last.channels, first.channels));
  return inner;
}

// A unit holds no layout, since micro-batches differ in their lengths and may be computed at once.
// It is computed for each call, from sizes alone.
ResidualLayout Residual::layout(const Context& context, DType dtype) const {
  ActivationDecl input{dtype,
                       {{{context.lengths.begin(), context.lengths.end()}, options_.channels}}};
  if (context.memory != nullptr)
    input.memory.assign(context.memory->lengths.begin(), context.memory->lengths.end());
  return layout(input, {context.backend.kind(), dtype});
}

// Parts run one after the other, so they share the workspace of the largest. backward_input also
// runs forward of the parts that it recomputes. The three copies of n numbers are for the addition.
// The last part that is not elementwise decides the kind of work.
LayerPlan Residual::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  if (input.only().channels != options_.channels)
    throw ShapeError(fmt::format("residual unit {} was given {} channels, expected {}", name(),
                                 input.only().channels, options_.channels));
  const ResidualLayout inner = layout(input, sizes);
  LayerPlan plan;
  plan.output = input;
  plan.output.memory.clear();
  plan.saved = inner.saved;
  plan.cache_channels = cache_channels_of(inner.plans);
  Workspace max;
  for (std::size_t i = 0; i < inner.plans.size(); ++i) {
    const LayerPlan& part = inner.plans[i];
    plan.params.insert(plan.params.end(), part.params.begin(), part.params.end());
    plan.state.insert(plan.state.end(), part.state.begin(), part.state.end());
    plan.sums += part.sums;
    plan.flops.forward += part.flops.forward;
    plan.flops.backward_input += part.flops.backward_input;
    plan.flops.backward_weight += part.flops.backward_weight;
    plan.auxiliary_loss |= part.auxiliary_loss;
    if (part.work != Work::elementwise) plan.work = part.work;
    max.forward = std::max(max.forward, part.workspace.forward);
    max.backward_input = std::max(max.backward_input, part.workspace.backward_input);
    max.backward_weight = std::max(max.backward_weight, part.workspace.backward_weight);
    if (inner.recomputed[i + 1])
      max.backward_input = std::max(max.backward_input, part.workspace.forward);
  }
  const std::int64_t n = element_count(input.only().shape());
  max.forward = std::max(max.forward, widened(sizes, {n, n, n}));
  max.backward_input = std::max(max.backward_input, widened(sizes, {n, n, n}));
  const auto count = static_cast<double>(n);
  plan.flops.forward += 2 * count;
  plan.flops.backward_input += 2 * count;
  Scratch forward, backward;
  forward_buffers(forward, inner);
  backward_buffers(backward, inner);
  plan.workspace = {forward.used() + max.forward, backward.used() + max.backward_input,
                    max.backward_weight};
  return plan;
}

std::vector<ResidualPart> Residual::parts(const ActivationDecl& input,
                                          const BackendSizes& sizes) const {
  std::vector<ResidualPart> parts;
  ResidualLayout inner = layout(input, sizes);
  for (std::size_t i = 0; i < inner.plans.size(); ++i)
    parts.push_back({options_.parts[i].get(), inner.activations[i], std::move(inner.plans[i]),
                     options_.recomputes_cheap && inner.recomputed[i + 1]});
  return parts;
}

// Computes y = x + scale · factor · f(x), with the factor of each frame's utterance. If all are
// dropped, the row of sums is zeros: a count of 0, which changes nothing in a merge. Even with some
// dropped, f runs for all frames, and dropped ones are not added.
void Residual::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                       Saved saved) const {
  const std::vector<double> factors = drop_.factors(context);
  if (all_dropped(factors)) {
    std::fill(context.sums.begin(), context.sums.end(), 0.0);
    return context.backend.run(context.stream, Cast{x.only().x_FC, y.only().x_FC});
  }
  if (options_.training_only && context.mode == Mode::evaluate)
    return context.backend.run(context.stream, Cast{x.only().x_FC, y.only().x_FC});
  const ResidualLayout inner = layout(context, x.only().x_FC.dtype);
  Scratch scratch(context.workspace);
  const AlternatingBuffers passing = forward_buffers(scratch, inner);
  Context part = part_context(context, scratch);
  Shares weights(params.weights), state(params.state);
  Shares sums(context.sums);
  Activation from = x;
  const std::size_t last = inner.plans.size();
  for (std::size_t i = 0; i < last; ++i) {
    const LayerPlan& plan = inner.plans[i];
    const ActivationDecl& decl = inner.activations[i + 1];
    // In forward an activation that backward recomputes is not kept, even if it has a place.
    const int place =
        inner.recomputed[i + 1] ? ResidualLayout::kPassing : inner.kept_activations[i + 1];
    Activation to = kept_or(decl, place, saved, i + 1 == last ? y : passing.at(decl, i + 1));
    part.sums = sums.next(context.sums.empty() ? 0 : plan.sums);
    options_.parts[i]->forward(part,
                               {weights.next(plan.params.size()), state.next(plan.state.size())},
                               from, to, saved_of(inner, i, saved));
    context.stream.progress();
    from = to;
  }
  context.backend.run(context.stream, AddScaled{x.only().x_FC, from.only().x_FC, y.only().x_FC,
                                                options_.scale, factors, context.lengths});
}

// With J the Jacobian of f, it computes dx = dy + J^T · (scale · factor · dy). If nothing is
// scaled, the last part reads dy where it lies.
void Residual::backward_input(Context& context, const Params& params, const Activation& dy,
                              Saved saved, Activation& dx) const {
  const std::vector<double> factors = drop_.factors(context);
  if (all_dropped(factors)) {
    if (!dx.empty()) context.backend.run(context.stream, Cast{dy.only().x_FC, dx.only().x_FC});
    return;
  }
  const ResidualLayout inner = layout(context, dy.only().x_FC.dtype);
  Scratch scratch(context.workspace);
  const AlternatingBuffers passing = backward_buffers(scratch, inner);
  Context part = part_context(context, scratch);
  recompute(part, inner, params, passing, saved);
  const auto gradient = [&](std::size_t i, const Activation& other) {
    return kept_or(inner.activations[i], inner.kept_gradients[i], saved, other);
  };
  const std::size_t last = inner.plans.size();
  Activation from = dy;
  if (scales()) {
    from = gradient(last, passing.at(inner.activations[last], last));
    context.backend.run(
        context.stream,
        AddScaled{{}, dy.only().x_FC, from.only().x_FC, options_.scale, factors, context.lengths});
  }
  // The lists of parameters are consumed from their ends, as the parts run backwards.
  std::size_t weights = params.weights.size(), state = params.state.size();
  for (std::size_t i = last; i-- > 0;) {
    const LayerPlan& plan = inner.plans[i];
    weights -= plan.params.size();
    state -= plan.state.size();
    Activation to = gradient(i, i == 0 ? dx : passing.at(inner.activations[i], i));
    options_.parts[i]->backward_input(part,
                                      {params.weights.subspan(weights, plan.params.size()),
                                       params.state.subspan(state, plan.state.size())},
                                      from, saved_of(inner, i, saved), to);
    context.stream.progress();
    from = to;
  }
  // The gradient of x has two paths: around the parts, and through them.
  if (!dx.empty())
    context.backend.run(context.stream,
                        AddScaled{dy.only().x_FC, from.only().x_FC, dx.only().x_FC});
}

// Walks forwards, because a recomputed activation may be the input of the next. One that nobody
// saves passes through the buffers of backward, which hold no gradient yet.
void Residual::recompute(Context& part, const ResidualLayout& inner, const Params& params,
                         const AlternatingBuffers& passing, Saved saved) const {
  const auto activation = [&](std::size_t i) {
    const ActivationDecl& decl = inner.activations[i];
    return kept_or(decl, inner.kept_activations[i], saved, passing.at(decl, i));
  };
  Shares weights(params.weights), state(params.state);
  for (std::size_t i = 0; i < inner.plans.size(); ++i) {
    const Params own{weights.next(inner.plans[i].params.size()),
                     state.next(inner.plans[i].state.size())};
    if (!inner.recomputed[i + 1]) continue;
    Activation to = activation(i + 1);
    options_.parts[i]->forward(part, own, activation(i), to, saved_of(inner, i, saved));
    part.stream.progress();
  }
}

// If all utterances are dropped, backward_input wrote nothing that is carried, and the gradient is
// 0.
void Residual::backward_weight(Context& context, Saved saved, Grads grads) const {
  if (all_dropped(drop_.factors(context))) return;
  const ResidualLayout inner = layout(context, DType::f32);  // the dtype does not change the places
  Shares<const Tensor> shares(grads);
  for (std::size_t i = 0; i < inner.plans.size(); ++i) {
    const Grads share = shares.next(inner.plans[i].params.size());
    if (!inner.plans[i].trained()) continue;
    options_.parts[i]->backward_weight(context, saved_of(inner, i, saved), share);
    context.stream.progress();
  }
}

// The number of a part's parameters depends on no frame.
void Residual::replace_parts(const Replace& replace) {
  const ResidualLayout inner = layout({DType::f32, {{{1}, options_.channels}}}, {});
  for (std::size_t i = 0; i < options_.parts.size(); ++i)
    options_.parts[i] = replace(std::move(options_.parts[i]), inner.plans[i].params.size());
}

// pool() and commit_state() cut rows of sums into the columns of the parts. How many these are
// depends on no frame, so the layout is that of any input.
std::vector<double> Residual::pool(std::span<const double> sums) const {
  const ResidualLayout inner = layout({DType::f32, {{{1}, options_.channels}}}, {});
  std::vector<double> row;
  for (std::size_t i = 0; i < inner.plans.size(); ++i) {
    if (inner.plans[i].sums == 0) continue;
    const std::vector<double> own = options_.parts[i]->pool(sums_of_part(inner.plans, i, sums));
    row.insert(row.end(), own.begin(), own.end());
  }
  return row;
}

void Residual::commit_state(Context& context, std::span<const double> sums,
                            std::span<const Tensor> state) const {
  const ResidualLayout inner = layout({DType::f32, {{{1}, options_.channels}}}, {});
  Shares<const Tensor> states(state);
  for (std::size_t i = 0; i < inner.plans.size(); ++i) {
    if (inner.plans[i].sums == 0) continue;  // the part has no sums and no state
    const std::span<const Tensor> share = states.next(inner.plans[i].state.size());
    if (!share.empty())
      options_.parts[i]->commit_state(context, sums_of_part(inner.plans, i, sums), share);
  }
}

}  // namespace penstock::layers
