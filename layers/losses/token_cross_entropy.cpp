#include "layers/losses/token_cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/cross_entropy.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/linear.h"
#include "layers/ops/targets.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// A vocabulary of 10^5 tokens has far more logits than a model has activations, so they exist for
// one tile of rows at a time. A tile lies within one utterance, and its rows follow from that
// utterance alone, so that neighbours change no bit of a loss. For each tile
//   forward         logits = x · W^T, and the losses of rows
//   backward_input  logits again, dlogits in their place, dx = dlogits · W, dW += dlogits^T · x
// backward_weight gets no weights, so backward_input carries the sum of dW, in FP32. Forward keeps
// the targets and the factors of rows, which already include weight and scale. A row costs
// 2 · W · V operations in forward, and 6 · W · V in backward_input. With a frozen weight its
// gradient has no memory and is not computed.

namespace penstock::layers {
namespace {

enum TokenSaved { kInput, kTargets, kFactors, kWeight, kBias };

/// Returns what the rows predict: each text's labels, and then `eos`.
std::vector<std::int32_t> targets_of_rows(const Targets& targets, std::int32_t eos) {
  std::vector<std::int32_t> ids;
  auto next = targets.labels.begin();
  for (const std::int32_t count : targets.lengths) {
    ids.insert(ids.end(), next, next + count);
    ids.push_back(eos);
    next += count;
  }
  return ids;
}

}  // namespace

/// Rows of one utterance whose logits exist together.
struct TokenCrossEntropy::Tile {
  std::int64_t first_frame;  // of the input
  std::int64_t first_row;    // of all that predict
  std::int64_t rows;
};

/// The utterances of a micro-batch, and how many rows of each predict a token.
struct TokenCrossEntropy::Batch {
  /// A plan's labels may be more than the frames can have.
  Batch(std::span<const std::int64_t> frames, std::span<const std::int64_t> labels)
      : lengths(frames) {
    for (std::size_t u = 0; u < lengths.size(); ++u) {
      predicting.push_back(std::min(labels[u] + 1, lengths[u]));
      all_rows += predicting.back();
      longest = std::max(longest, predicting.back());
    }
  }

  std::vector<Tile> tiles(std::int64_t most) const {
    std::vector<Tile> tiles;
    std::int64_t frame = 0, row = 0;
    for (std::size_t u = 0; u < lengths.size(); ++u) {
      const std::int64_t count = predicting[u], first_frame = frame + lengths[u] - count;
      for (std::int64_t r = 0; r < count; r += most)
        tiles.push_back({first_frame + r, row + r, std::min(most, count - r)});
      frame += lengths[u];
      row += count;
    }
    return tiles;
  }

  std::span<const std::int64_t> lengths;
  std::vector<std::int64_t> predicting;  // L + 1
  std::int64_t all_rows = 0, longest = 0;
};

/// The tensors that forward leaves for backward. In evaluation, targets take scratch memory, and
/// there are no factors.
struct TokenCrossEntropy::Kept {
  Tensor targets_R, factors_R;
};

TokenCrossEntropy::TokenCrossEntropy(TokenCrossEntropyOptions options)
    : options_(std::move(options)) {
  const auto& [name, classes, width, eos, smoothing, deviation, bias, tile_numbers, tied_to] =
      options_;
  if (classes < 1 || width < 1 || eos < 0 || eos >= classes || tile_numbers < 0)
    throw ShapeError(fmt::format(
        "{} has {} classes, {} channels, token {} as the end and tiles of {} numbers; it needs 1 "
        "or more of the first two, an end among its classes and no negative number",
        name, classes, width, eos, tile_numbers));
  if (!(smoothing >= 0 && smoothing < 1))
    throw ShapeError(
        fmt::format("{} has label smoothing {}; give a number from 0 to below 1", name, smoothing));
}

std::int64_t TokenCrossEntropy::tile_rows(DeviceKind device) const {
  const std::int64_t usual = std::int64_t{1} << (device == DeviceKind::cpu ? 22 : 24);
  const std::int64_t numbers = options_.tile_numbers > 0 ? options_.tile_numbers : usual;
  return std::max(numbers / options_.classes, std::int64_t{1});
}

// The gradient of the weight counts as work of backward_input, which adds it up.
LayerPlan TokenCrossEntropy::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t V = options_.classes, W = options_.width;
  if (x.channels != W)
    throw ShapeError(fmt::format("{} was given {} channels, expected {}", name(), x.channels, W));
  const Batch batch(x.lengths, input.labels_or_usual());
  const DType wide = arithmetic_of(sizes.compute);
  const auto own = [](Life life, DType dtype, Shape shape, bool for_weights = false) {
    return SavedDecl{SavedDecl::Kind::own, life, dtype, std::move(shape), for_weights};
  };
  LayerPlan plan;
  plan.output = {input.dtype, {}};
  if (options_.bias) plan.params.push_back({name() + ".bias", {V}, {}});
  plan.params.push_back({name() + ".weight",
                         {V, W},
                         {Initialiser::Kind::uniform, std::sqrt(3.0) * options_.deviation}});
  plan.params.back().tied_to = options_.tied_to;
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                own(Life::to_backward_input, DType::i32, {batch.all_rows}),
                own(Life::to_backward_input, wide, {batch.all_rows}),
                own(Life::carried, wide, {V, W}, true)};
  if (options_.bias) plan.saved.push_back(own(Life::carried, wide, {V}, true));
  plan.workspace = workspace(batch, sizes);
  const auto count = static_cast<double>(batch.all_rows), v = static_cast<double>(V),
             w = static_cast<double>(W), product = 2 * count * v * w, softmax = 10 * count * v;
  plan.flops = {product + softmax, 3 * product + softmax, v * w};
  plan.work = Work::product;
  plan.needs_targets = true;
  return plan;
}

// In evaluation nothing is saved, so the targets take scratch memory. The steps follow each other,
// and share what is left. Copies are those of the largest tile's operation.
Workspace TokenCrossEntropy::workspace(const Batch& batch, const BackendSizes& sizes) const {
  const std::int64_t most = std::min(tile_rows(sizes.device), batch.longest),
                     logits = most * options_.classes, x = most * options_.width,
                     weight = options_.classes * options_.width;
  Scratch kept, tile;
  (void)tensor_in(kept, DType::i32, {batch.all_rows});
  (void)tensor_in(kept, DType::f64, {batch.all_rows});
  (void)tensor_in(tile, sizes.compute, {most, options_.classes});
  const std::size_t product =
                        widened(sizes, {logits, weight, x, options_.bias ? options_.classes : 0}),
                    softmax = widened(sizes, {logits, logits}),
                    sums = cross_entropy_workspace(sizes.device, batch.lengths.size());
  return {kept.used() + std::max(tile.used() + product, sums),
          tile.used() + std::max(product, softmax), 0};
}

TokenCrossEntropy::Batch TokenCrossEntropy::batch_of(const Context& context) const {
  if (context.targets == nullptr)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  const Targets& targets = *context.targets;
  expect_texts_of(targets, context.lengths, name().c_str());
  for (std::size_t u = 0; u < context.lengths.size(); ++u)
    if (context.lengths[u] <= targets.lengths[u])
      throw ShapeError(fmt::format(
          "{} was given {} of an utterance with {}; it needs one for each and one for the end",
          name(), counted(context.lengths[u], "row"), counted(targets.lengths[u], "label")));
  return {context.lengths,
          std::vector<std::int64_t>(targets.lengths.begin(), targets.lengths.end())};
}

// Saved tensors were laid out for the numbers of labels that the plan knew.
TokenCrossEntropy::Kept TokenCrossEntropy::kept_in(Saved saved, Scratch& scratch,
                                                   const Batch& batch) const {
  if (saved.empty()) return {tensor_in(scratch, DType::i32, {batch.all_rows}), {}};
  if (saved[kTargets].shape != Shape{batch.all_rows})
    throw ShapeError(fmt::format(
        "{} was planned for {} labels and ends, but was given {}: plan with ActivationDecl::labels",
        name(), saved[kTargets].shape[0], batch.all_rows));
  return {saved[kTargets], saved[kFactors]};
}

void TokenCrossEntropy::forward(Context& context, const Params& params, const Activation& x,
                                Activation&, Saved saved) const {
  const Tensor& x_FW = x.only().x_FC;
  const Batch batch = batch_of(context);
  const Targets& targets = *context.targets;
  expect_labels_below(targets, options_.classes, name().c_str(), 0);
  Scratch scratch(context.workspace);
  const Kept kept = kept_in(saved, scratch, batch);
  const Tensor losses_R = tensor_in(scratch, DType::f64, {batch.all_rows});
  const std::span<std::byte> rest = context.workspace.subspan(scratch.used());
  const std::vector<std::int32_t> ids = targets_of_rows(targets, options_.eos);
  context.backend.copy_in(context.stream, kept.targets_R.data, ids.data(), kept.targets_R.bytes());
  const std::int64_t most = std::min(tile_rows(context.backend.kind()), batch.longest);
  Scratch of_tiles(rest);
  const Tensor room_RV = tensor_in(of_tiles, x_FW.dtype, {most, options_.classes});
  for (const Tile& tile : batch.tiles(most)) {
    const Tensor logits_RV = rows(room_RV, 0, tile.rows);
    context.backend.run(context.stream,
                        LinearForward{.x_FI = rows(x_FW, tile.first_frame, tile.rows),
                                      .w_OI = params.weights.back(),
                                      .b_O = bias_of(params),
                                      .y_FO = logits_RV});
    context.backend.run(
        context.stream,
        CrossEntropyLosses{.logits_RV = logits_RV,
                           .targets_R = rows(kept.targets_R, tile.first_row, tile.rows),
                           .smoothing = options_.smoothing,
                           .losses_R = rows(losses_R, tile.first_row, tile.rows)});
  }
  context.backend.run(context.stream, CrossEntropySums{.losses_R = losses_R,
                                                       .lengths = batch.predicting,
                                                       .targets = targets,
                                                       .factors_R = kept.factors_R,
                                                       .workspace = rest});
}

void TokenCrossEntropy::backward_input(Context& context, const Params& params, const Activation&,
                                       Saved saved, Activation& dx) const {
  const Batch batch = batch_of(context);
  Scratch scratch(context.workspace);
  (void)kept_in(saved, scratch, batch);  // checks that these are the labels of forward
  const auto zero = [&](const Tensor& tensor) {
    context.backend.zero(context.stream, tensor.data, tensor.bytes());
  };
  for (std::size_t i = kWeight; i < saved.size(); ++i)
    if (saved[i].data != nullptr) zero(saved[i]);
  const Tensor dx_FW = dx.empty() ? Tensor{} : dx.only().x_FC;
  if (!dx.empty()) zero(dx_FW);
  const std::int64_t most = std::min(tile_rows(context.backend.kind()), batch.longest);
  const Tensor room_RV = tensor_in(scratch, saved[kInput].dtype, {most, options_.classes});
  for (const Tile& tile : batch.tiles(most))
    separate(context, params, tile, saved, rows(room_RV, 0, tile.rows), dx_FW);
}

// The logits' gradient takes the place of the logits.
void TokenCrossEntropy::separate(Context& context, const Params& params, const Tile& tile,
                                 Saved saved, const Tensor& logits_RV, const Tensor& dx_FW) const {
  const auto run = [&](const auto& operation) { context.backend.run(context.stream, operation); };
  const Tensor x_FW = rows(saved[kInput], tile.first_frame, tile.rows);
  run(LinearForward{
      .x_FI = x_FW, .w_OI = params.weights.back(), .b_O = bias_of(params), .y_FO = logits_RV});
  run(CrossEntropyGradient{.logits_RV = logits_RV,
                           .targets_R = rows(saved[kTargets], tile.first_row, tile.rows),
                           .smoothing = options_.smoothing,
                           .factors_R = rows(saved[kFactors], tile.first_row, tile.rows),
                           .dlogits_RV = logits_RV});
  if (dx_FW.data != nullptr)
    run(LinearBackwardInput{.dy_FO = logits_RV,
                            .w_OI = params.weights.back(),
                            .dx_FI = rows(dx_FW, tile.first_frame, tile.rows)});
  if (saved[kWeight].data != nullptr)
    run(LinearBackwardWeight{.x_FI = x_FW,
                             .dy_FO = logits_RV,
                             .dw_OI = saved[kWeight],
                             .db_O = options_.bias ? saved[kBias] : Tensor{}});
}

void TokenCrossEntropy::backward_weight(Context& context, Saved saved, Grads grads) const {
  const auto add = [&](const Tensor& gradient, const Tensor& to) {
    context.backend.run(context.stream, AddScaled{to, gradient, to});
  };
  add(saved[kWeight], grads.back());
  if (options_.bias) add(saved[kBias], grads.front());
}

}  // namespace penstock::layers
