#include "layers/losses/prediction_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "layers/nn/residual_layout.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/embedding.h"
#include "layers/widened.h"

// The embedding looks up rows, and common layers run over them one after the other, with positions
// of texts for frames of utterances. They are laid out as the parts of a residual unit are
// (residual_layout.h): activation 0 is the embedding's output, and the last one is the network's,
// which the caller keeps. The gradient of activation 0 is kept for the gradient of the table.

namespace penstock::layers {
namespace {

/// Throws ShapeError unless `value`, which is `what` of the network, is 1 or more.
void require_positive(std::int64_t value, const char* what) {
  if (value < 1)
    throw ShapeError(fmt::format("a prediction network has {} {}; give at least 1", value, what));
}

/// Adds LSTM layers to `parts`, and returns their width. Their input products start as PyTorch's.
std::int64_t add_lstm(std::vector<std::unique_ptr<Layer>>& parts, const std::string& name,
                      const PredictionOptions& options) {
  require_positive(options.layers, "LSTM layers");
  require_positive(options.hidden, "hidden channels");
  std::int64_t in = options.embedding;
  for (std::int64_t i = 1; i <= options.layers; ++i) {
    const std::string lstm = fmt::format("{}.lstm{}", name, i);
    parts.push_back(std::make_unique<Linear>(
        LinearOptions{.name = lstm + ".input",
                      .in = in,
                      .out = 4 * options.hidden,
                      .bound = 1 / std::sqrt(static_cast<double>(options.hidden))}));
    parts.push_back(std::make_unique<Recurrence>(RecurrenceOptions{
        .name = lstm, .kind = RecurrenceKind::lstm, .directions = 1, .hidden = options.hidden}));
    in = options.hidden;
  }
  return in;
}

/// Adds what reads the last two labels, if the network does.
void add_context(std::vector<std::unique_ptr<Layer>>& parts, const std::string& name,
                 const PredictionOptions& options) {
  if (options.context < 1 || options.context > 2)
    throw ShapeError(
        fmt::format("a stateless prediction network reads {} labels; give a context of 1 or 2",
                    options.context));
  if (options.context == 1) return;
  if (options.embedding % kPredictionGroup != 0)
    throw ShapeError(
        fmt::format("a stateless prediction network has {} channels; its groups need a multiple "
                    "of {}",
                    options.embedding, kPredictionGroup));
  parts.push_back(
      std::make_unique<Conv1d>(Conv1dOptions{.name = name + ".conv",
                                             .in_channels = options.embedding,
                                             .out_channels = options.embedding,
                                             .groups = options.embedding / kPredictionGroup,
                                             .kernel = 2,
                                             .left = 1,
                                             .bias = false}));
  parts.push_back(
      std::make_unique<ClippedReLU>(name + ".relu", std::numeric_limits<double>::infinity()));
}

AlternatingBuffers forward_buffers(Scratch& scratch, const ResidualLayout& layout) {
  return {scratch, layout.activations, 0, layout.plans.size() - 1};
}
AlternatingBuffers backward_buffers(Scratch& scratch, const ResidualLayout& layout) {
  return {scratch, layout.activations, 1, layout.plans.size() - 1};
}

/// Returns the context of the parts, whose workspace is the rest after the network's buffers.
Context part_context(const Context& context, const Scratch& scratch) {
  Context part = context;
  part.workspace = context.workspace.subspan(scratch.used());
  return part;
}

/// Returns the saved tensors: those of the parts, of which the first one's input is memory here
/// too, and the gradient of the embedding's output.
std::vector<SavedDecl> saved_in(const ResidualLayout& inner) {
  const ActivationDecl& embedded = inner.activations.front();
  std::vector<SavedDecl> saved = inner.saved;
  for (SavedDecl& decl : saved) {
    if (decl.kind == SavedDecl::Kind::input)
      decl = {SavedDecl::Kind::own, decl.life, embedded.dtype, embedded.only().shape()};
    decl.for_weights = true;
  }
  saved.push_back({SavedDecl::Kind::own, Life::carried, embedded.dtype, embedded.only().shape(),
                   /*for_weights=*/true});
  return saved;
}

}  // namespace

// Embeddings start with PyTorch's standard deviation of 1.
PredictionNetwork::PredictionNetwork(const std::string& name, std::int64_t classes,
                                     std::int64_t out, const PredictionOptions& options)
    : table_{name + ".embedding.weight",
             {classes, options.embedding},
             {Initialiser::Kind::uniform, std::sqrt(3.0)}} {
  require_positive(options.embedding, "channels of an embedding");
  std::int64_t width = options.embedding;
  if (options.kind == PredictionKind::lstm)
    width = add_lstm(parts_, name, options);
  else
    add_context(parts_, name, options);
  parts_.push_back(std::make_unique<Linear>(
      LinearOptions{.name = name + ".projection", .in = width, .out = out}));
}

ResidualLayout PredictionNetwork::layout(std::span<const std::int64_t> positions,
                                         const BackendSizes& sizes) const {
  const ActivationDecl embedded{sizes.compute,
                                {{{positions.begin(), positions.end()}, table_.shape[1]}}};
  return {parts_, embedded, sizes, true, false};
}

ResidualLayout PredictionNetwork::layout(const Context& context, DType dtype) const {
  return layout(context.lengths, {context.backend.kind(), dtype});
}

LayerPlan PredictionNetwork::plan(std::span<const std::int64_t> positions,
                                  const BackendSizes& sizes) const {
  const ResidualLayout inner = layout(positions, sizes);
  const std::int64_t embedded = element_count(inner.activations.front().only().shape());
  LayerPlan plan;
  plan.output = inner.activations.back();
  plan.params = {table_};
  plan.saved = saved_in(inner);
  Workspace most{widened(sizes, {element_count(table_.shape), embedded}), 0,
                 widened(sizes, {embedded})};
  for (const LayerPlan& part : inner.plans) {
    plan.params.insert(plan.params.end(), part.params.begin(), part.params.end());
    plan.flops.forward += part.flops.forward;
    plan.flops.backward_input += part.flops.backward_input;
    plan.flops.backward_weight += part.flops.backward_weight;
    most.forward = std::max(most.forward, part.workspace.forward);
    most.backward_input = std::max(most.backward_input, part.workspace.backward_input);
    most.backward_weight = std::max(most.backward_weight, part.workspace.backward_weight);
  }
  plan.flops.backward_weight += static_cast<double>(embedded);
  Scratch forward, backward;
  forward_buffers(forward, inner);
  backward_buffers(backward, inner);
  plan.workspace = {forward.used() + most.forward, backward.used() + most.backward_input,
                    most.backward_weight};
  return plan;
}

void PredictionNetwork::forward(Context& context, std::span<const Tensor> weights,
                                const Tensor& ids_P, const Tensor& predicted_PJ,
                                Saved saved) const {
  const ResidualLayout inner = layout(context, predicted_PJ.dtype);
  Scratch scratch(context.workspace);
  const AlternatingBuffers passing = forward_buffers(scratch, inner);
  Context part = part_context(context, scratch);
  const auto activation = [&](std::size_t i) {
    const ActivationDecl& decl = inner.activations[i];
    return kept_or(decl, inner.kept_activations[i], saved, passing.at(decl, i));
  };
  Activation from = activation(0);
  context.backend.run(context.stream, EmbeddingForward{ids_P, weights[0], from.only().x_FC});
  Shares<const Tensor> shares(weights.subspan(1));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Activation to =
        i + 1 == parts_.size() ? Activation{{{predicted_PJ, context.lengths}}} : activation(i + 1);
    parts_[i]->forward(part, {shares.next(inner.plans[i].params.size()), {}}, from, to,
                       saved_of(inner, i, saved));
    context.stream.progress();
    from = to;
  }
}

// The last part is a product, which carries the gradient of its output.
void PredictionNetwork::backward_input(Context& context, std::span<const Tensor> weights,
                                       const Tensor& dpredicted_PJ, Saved saved) const {
  const ResidualLayout inner = layout(context, weights[0].dtype);
  Scratch scratch(context.workspace);
  const AlternatingBuffers passing = backward_buffers(scratch, inner);
  Context part = part_context(context, scratch);
  const auto gradient = [&](std::size_t i) -> Activation {
    const ActivationDecl& decl = inner.activations[i];
    if (i == 0) return {{{saved.back(), decl.only().lengths}}};
    return kept_or(decl, inner.kept_gradients[i], saved, passing.at(decl, i));
  };
  Activation from = gradient(parts_.size());
  context.backend.run(context.stream, Cast{dpredicted_PJ, from.only().x_FC});
  std::size_t left = weights.size();
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const std::size_t count = inner.plans[i].params.size();
    left -= count;
    Activation to = gradient(i);
    parts_[i]->backward_input(part, {weights.subspan(left, count), {}}, from,
                              saved_of(inner, i, saved), to);
    context.stream.progress();
    from = to;
  }
}

void PredictionNetwork::backward_weight(Context& context, const Tensor& ids_P, Saved saved,
                                        Grads grads) const {
  const ResidualLayout inner = layout(context, DType::f32);  // the dtype does not change the places
  context.backend.run(context.stream, EmbeddingBackwardWeight{ids_P, saved.back(), grads[0]});
  Shares<const Tensor> shares(grads.subspan(1));
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i]->backward_weight(context, saved_of(inner, i, saved),
                               shares.next(inner.plans[i].params.size()));
    context.stream.progress();
  }
}

}  // namespace penstock::layers
