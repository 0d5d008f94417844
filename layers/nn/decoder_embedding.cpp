#include "layers/nn/decoder_embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/embedding.h"
#include "layers/ops/positions.h"
#include "layers/ops/targets.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// Texts lie one after the other in a matrix of their own, so one look-up makes all rows. Positions
// are then added text by text, from the first row of their table on. backward_input copies the
// gradient of the memory, and keeps that of the texts, which backward_weight adds to the tables.
// With frozen tables nothing is kept.

namespace penstock::layers {
namespace {

enum EmbeddingSaved { kIds, kPositionIds, kGradient };
enum EmbeddingParams { kTable, kPositionTable };

/// Returns true if the plan has what the gradients of the tables need: see RatedLayer.
bool keeps(Saved saved) { return !saved.empty() && saved[kIds].data != nullptr; }

std::int64_t sum_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t longest_of(std::span<const std::int64_t> counts) {
  return counts.empty() ? 0 : std::ranges::max(counts);
}

Tensor copy_of_ids(const Context& context, const Tensor& to_P, std::span<const std::int32_t> ids) {
  context.backend.copy_in(context.stream, to_P.data, ids.data(), to_P.bytes());
  return to_P;
}

/// Returns 0, 1, … for the rows of each text.
std::vector<std::int32_t> counted_up(std::span<const std::int64_t> texts) {
  std::vector<std::int32_t> positions;
  for (const std::int64_t rows : texts)
    for (std::int64_t t = 0; t < rows; ++t) positions.push_back(static_cast<std::int32_t>(t));
  return positions;
}

}  // namespace

DecoderEmbedding::DecoderEmbedding(DecoderEmbeddingOptions options) : options_(std::move(options)) {
  if (options_.classes < 1 || options_.width < 1)
    throw ShapeError(fmt::format("{} has {} classes and {} channels; it needs 1 or more of each",
                                 name(), options_.classes, options_.width));
  start().check(options_.classes, name());
  if (ends() && labels_at_most() < 1)
    throw ShapeError(fmt::format("{} has {} positions, and texts begin with {}: give more", name(),
                                 options_.max_positions, counted(start().rows(), "row")));
  if (options_.positions == TextPositions::canary && options_.width % 2 != 0)
    throw ShapeError(fmt::format("{} has {} channels, which are no halves of sines and cosines",
                                 name(), options_.width));
}

/// True if positions are sinusoids.
bool DecoderEmbedding::computed() const {
  return options_.positions == TextPositions::sinusoidal ||
         options_.positions == TextPositions::canary;
}

/// Computes the rows of the positions from `first` on.
void DecoderEmbedding::fill(const Context& context, const Tensor& table, std::int64_t first) const {
  const bool canary = options_.positions == TextPositions::canary;
  context.backend.run(context.stream,
                      PositionTable{.table_XC = table,
                                    .first = first,
                                    .order = canary ? SinusoidOrder::apart : SinusoidOrder::pairs});
  if (canary)
    context.backend.run(
        context.stream,
        AddScaled{{}, table, table, 1 / std::sqrt(static_cast<double>(options_.width))});
}

/// Returns the labels of the longest text that positions reach; 0: no limit.
std::int64_t DecoderEmbedding::labels_at_most() const {
  if (!ends()) return 0;
  return std::max<std::int64_t>(0, options_.max_positions - start().rows());
}

LayerPlan DecoderEmbedding::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& memory = input.only();
  const std::int64_t V = options_.classes, W = options_.width, M = options_.max_positions;
  if (memory.channels != W)
    throw ShapeError(
        fmt::format("{} was given {} channels, expected {}", name(), memory.channels, W));
  FramesDecl text{input.labels_or_usual(), W};
  for (std::int64_t& rows : text.lengths) rows += start().rows();
  const std::int64_t R = text.rows(), longest = longest_of(text.lengths);
  LayerPlan plan;
  plan.output = {input.dtype, {memory, text}};
  plan.output.ends_with_text = true;
  plan.output.most_labels = labels_at_most();
  const Initialiser start{Initialiser::Kind::uniform, std::sqrt(3.0) * options_.deviation};
  plan.params.push_back({name() + ".weight", {V, W}, start});
  if (learned()) plan.params.push_back({name() + ".positions", {M, W}, start});
  const auto own = [](Life life, DType dtype, Shape shape) {
    return SavedDecl{SavedDecl::Kind::own, life, dtype, std::move(shape), /*for_weights=*/true};
  };
  plan.saved = {own(Life::to_backward_weight, DType::i32, {R}),
                own(Life::to_backward_weight, DType::i32, {learned() ? R : 0}),
                own(Life::carried, sizes.compute, {R, W})};
  Scratch ids, positions, scaled;
  (void)tensor_in(ids, DType::i32, {R});
  (void)tensor_in(positions, arithmetic_of(input.dtype), {longest, W});
  (void)tensor_in(scaled, sizes.compute, {R, W});
  plan.workspace = {std::max(ids.used(), positions.used()), 0, scaled.used()};
  add_copies(plan.workspace, {std::max(widened(sizes, {V * W, R * W}),
                                       widened(sizes, {longest * W, longest * W, longest * W})),
                              0, widened(sizes, {R * W, R * W})});
  const auto numbers = static_cast<double>(R * W), all = static_cast<double>(memory.rows() * W);
  plan.flops = {all + 3 * numbers, all + numbers, (learned() ? 2 : 1) * numbers};
  plan.needs_targets = true;
  return plan;
}

/// Returns the rows of each text.
std::vector<std::int64_t> DecoderEmbedding::texts_of(const Context& context) const {
  if (context.targets == nullptr && context.mode == Mode::train)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  std::vector<std::int64_t> texts(context.lengths.size());
  if (context.targets != nullptr) {
    expect_texts_of(*context.targets, context.lengths, name().c_str());
    texts.assign(context.targets->lengths.begin(), context.targets->lengths.end());
  }
  for (std::int64_t& rows : texts) rows += start().rows();
  const std::int64_t longest = longest_of(texts);
  if (ends() && longest > options_.max_positions)
    throw ShapeError(
        fmt::format("{} has {} positions, but a text has {}, its beginning included: leave such "
                    "utterances out",
                    name(), options_.max_positions, counted(longest, "row")));
  return texts;
}

void DecoderEmbedding::forward(Context& context, const Params& params, const Activation& x,
                               Activation& y, Saved saved) const {
  const std::vector<std::int64_t> texts = texts_of(context);
  const Tensor &memory = x.only().x_FC, &y_RW = y.frames.at(1).x_FC;
  if (y_RW.shape[0] != sum_of(texts))
    throw ShapeError(
        fmt::format("{} was planned for texts of {}, but its labels make {}: plan with "
                    "ActivationDecl::labels",
                    name(), counted(y_RW.shape[0], "row"), sum_of(texts)));
  if (context.targets != nullptr)
    expect_labels_below(*context.targets, options_.classes, name().c_str(), 0);
  context.backend.copy(context.stream, y.frames[0].x_FC.data, memory.data, memory.bytes());
  {
    Scratch scratch(context.workspace);
    const Tensor ids_R =
        keeps(saved) ? saved[kIds] : tensor_in(scratch, DType::i32, {y_RW.shape[0]});
    copy_of_ids(context, ids_R, start().ids(context, name()));
    context.backend.run(context.stream, EmbeddingForward{ids_R, params.weights[kTable], y_RW});
  }
  if (keeps(saved) && learned()) copy_of_ids(context, saved[kPositionIds], counted_up(texts));
  add_positions(context, params, texts, y_RW);
}

/// Computes y = scale · y + positions, of rows that have embeddings.
void DecoderEmbedding::add_positions(const Context& context, const Params& params,
                                     std::span<const std::int64_t> texts,
                                     const Tensor& y_RW) const {
  Scratch scratch(context.workspace);
  Tensor table = learned() ? params.weights[kPositionTable] : Tensor{};
  if (computed()) {
    table = tensor_in(scratch, arithmetic_of(y_RW.dtype), {longest_of(texts), options_.width});
    fill(context, table, 0);
  }
  std::int64_t row = 0;
  for (const std::int64_t count : texts) {
    const Tensor text = rows(y_RW, row, count);
    context.backend.run(context.stream,
                        AddScaled{.x = table.data == nullptr ? Tensor{} : rows(table, 0, count),
                                  .f = text,
                                  .y = text,
                                  .scale = options_.scale});
    row += count;
  }
}

void DecoderEmbedding::backward_input(Context& context, const Params&, const Activation& dy,
                                      Saved saved, Activation& dx) const {
  const auto copy = [&](const Tensor& from, const Tensor& to) {
    context.backend.copy(context.stream, to.data, from.data, from.bytes());
  };
  if (!dx.empty()) copy(dy.frames[0].x_FC, dx.only().x_FC);
  if (keeps(saved)) copy(dy.frames[1].x_FC, saved[kGradient]);
}

void DecoderEmbedding::backward_weight(Context& context, Saved saved, Grads grads) const {
  Tensor gradient = saved[kGradient];
  if (learned())
    context.backend.run(context.stream, EmbeddingBackwardWeight{saved[kPositionIds], gradient,
                                                                grads[kPositionTable]});
  if (options_.scale != 1) {
    Scratch scratch(context.workspace);
    const Tensor scaled = tensor_in(scratch, gradient.dtype, gradient.shape);
    context.backend.run(context.stream, AddScaled{{}, gradient, scaled, options_.scale});
    gradient = scaled;
  }
  context.backend.run(context.stream,
                      EmbeddingBackwardWeight{saved[kIds], gradient, grads[kTable]});
}

// Texts differ in their lengths, so each row gets its position by itself.
void DecoderEmbedding::embed(Context& context, const Params& params, const NextRows& next) const {
  context.backend.run(context.stream,
                      EmbeddingForward{next.ids_P, params.weights[kTable], next.y_PW});
  Scratch scratch(context.workspace);
  const Tensor sinusoids = tensor_in(scratch, arithmetic_of(next.y_PW.dtype), {1, options_.width});
  for (std::int64_t p = 0; p < next.y_PW.shape[0]; ++p) {
    const std::int64_t at = next.positions[static_cast<std::size_t>(p)];
    Tensor position;
    if (learned()) {
      position = rows(params.weights[kPositionTable], at, 1);
    } else if (computed()) {
      position = sinusoids;
      fill(context, position, at);
    }
    const Tensor y = rows(next.y_PW, p, 1);
    context.backend.run(context.stream, AddScaled{position, y, y, options_.scale});
  }
}

std::size_t DecoderEmbedding::embed_workspace(const BackendSizes& sizes, std::int64_t rows) const {
  const std::int64_t W = options_.width;
  Scratch scratch;
  (void)tensor_in(scratch, arithmetic_of(sizes.compute), {1, W});
  Workspace bytes{.forward = scratch.used()};
  add_copies(bytes,
             {std::max(widened(sizes, {options_.classes * W, rows * W}), widened(sizes, {W, W, W})),
              0, 0});
  return bytes.forward;
}

}  // namespace penstock::layers
