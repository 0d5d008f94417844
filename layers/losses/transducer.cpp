#include "layers/losses/transducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/losses/transducer_tiles.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/linear.h"
#include "layers/scratch.h"
#include "layers/widened.h"

// The layer has three steps: the prediction network over all texts, the joint network over tiles of
// cells, and the lattice. Forward keeps the rows of the prediction network, and of each cell the
// lattice's occupancies, which already include weight and scale. backward_input computes the logits
// of each tile again, turns them into their gradient in place, and adds up, tile after tile:
//   the gradients of the joint network's weights, which backward_weight adds to the sums
//   the gradient of predicted_PJ, in FP32, from which the prediction network runs backward
//
// The joint network's product costs 2 · J · K operations for each cell: once in forward, and three
// times in backward_input, of which one is computed again. If all parameters are frozen, what only
// their gradients need has no memory and is not computed.

namespace penstock::layers {
namespace {

enum TransducerSaved { kInput, kIds, kScores, kPredicted, kJointWeight, kJointBias, kPrediction };

/// Views rows [first, first + count) of a matrix, or elements of a vector.
Tensor rows(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  Tensor view = matrix;
  view.shape[0] = 1;
  const std::size_t row = view.bytes();
  view.data = static_cast<std::byte*>(matrix.data) + static_cast<std::size_t>(first) * row;
  view.shape[0] = count;
  return view;
}

void zero(Context& context, const Tensor& tensor) {
  context.backend.zero(context.stream, tensor.data, tensor.bytes());
}

/// Returns true if the plan has what the gradients of the weights need: see RatedLayer.
bool is_trained(Saved saved) { return saved[kJointWeight].data != nullptr; }

/// Returns the part of the saved tensors that the prediction network fills; none in evaluation or
/// if it is frozen.
Saved of_prediction(Saved saved) {
  return saved.empty() || !is_trained(saved) ? Saved{} : saved.subspan(kPrediction);
}

/// Returns the labels of a tile's utterance.
Tensor labels_of(const TransducerTile& tile, const Tensor& ids_P) {
  return rows(ids_P, tile.first_position + 1, tile.positions - 1);
}

/// Returns the ids that the prediction network reads: for each text class 0 and then its labels.
std::vector<std::int32_t> ids_of(const Targets& targets) {
  std::vector<std::int32_t> ids;
  auto next = targets.labels.begin();
  for (const std::int32_t count : targets.lengths) {
    ids.push_back(0);
    ids.insert(ids.end(), next, next + count);
    next += count;
  }
  return ids;
}

}  // namespace

/// The utterances of a micro-batch, their positions and the rows of their tiles.
struct Transducer::Batch {
  Batch(std::span<const std::int64_t> frames, std::vector<std::int64_t> rows, std::int64_t most)
      : lengths(frames),
        positions(std::move(rows)),
        tile(transducer_tile_rows(lengths, positions, most)) {
    for (std::size_t u = 0; u < lengths.size(); ++u) {
      cells += lengths[u] * positions[u];
      all_positions += positions[u];
    }
  }

  Batch(std::span<const std::int64_t> frames, const Targets& targets, std::int64_t most)
      : Batch(frames, positions_of(targets), most) {}

  std::vector<TransducerTile> tiles(std::int64_t most) const {
    return transducer_tiles(lengths, positions, most);
  }

  /// Returns the context of the prediction network, after `scratch` of the layer's own.
  Context of_texts(const Context& context, const Scratch& scratch) const {
    Context texts = context;
    texts.lengths = positions;
    texts.workspace = context.workspace.subspan(scratch.used());
    return texts;
  }

  static std::vector<std::int64_t> positions_of(const Targets& targets) {
    std::vector<std::int64_t> positions(targets.lengths.begin(), targets.lengths.end());
    for (std::int64_t& count : positions) ++count;
    return positions;
  }

  std::span<const std::int64_t> lengths;
  std::vector<std::int64_t> positions;  // U + 1
  TransducerTileRows tile;
  std::int64_t cells = 0, all_positions = 0;
};

/// The tensors that forward leaves for backward; scratch memory in evaluation.
struct Transducer::Kept {
  Tensor ids_P, scores_CS, predicted_PJ;
};

/// The gradients of a joint network's two inputs: that of a tile's frames, and the sums of all
/// rows.
struct Transducer::JointGradients {
  Tensor dencoded_TJ, dpredicted_PJ;
};

/// The tensors of one tile. The last two are backward's alone.
struct Transducer::TileRoom {
  TileRoom(Scratch& scratch, const Batch& batch, const TransducerOptions& options, DType dtype,
           bool backward) {
    const std::int64_t J = options.joint, cells = batch.tile.cells,
                       K = options.classes + static_cast<std::int64_t>(options.durations.size());
    hidden_CJ = tensor_in(scratch, dtype, {cells, J});
    logits_CK = tensor_in(scratch, dtype, {cells, K});
    if (!backward) return;
    dhidden_CJ = tensor_in(scratch, dtype, {cells, J});
    dencoded_TJ = tensor_in(scratch, dtype, {batch.tile.frames, J});
  }

  Tensor hidden_CJ, logits_CK, dhidden_CJ;
  Tensor dencoded_TJ;  // where nobody needs dx
};

Transducer::Transducer(TransducerOptions options)
    : options_(std::move(options)),
      prediction_(options_.name, options_.classes, options_.joint, options_.prediction) {
  expect_transducer_durations(options_.durations);
  if (options_.classes < 2 || options_.joint < 1 || options_.tile_numbers < 0)
    throw ShapeError(fmt::format(
        "{} has {} classes, {} joint channels and tiles of {} numbers; it needs a blank "
        "and a label, at least 1 channel and no negative number",
        name(), options_.classes, options_.joint, options_.tile_numbers));
}

std::int64_t Transducer::outputs() const {
  return options_.classes + static_cast<std::int64_t>(options_.durations.size());
}
std::int64_t Transducer::scores() const {
  return 2 + static_cast<std::int64_t>(options_.durations.size());
}
std::int64_t Transducer::tile_cells(DeviceKind device) const {
  const std::int64_t usual = std::int64_t{1} << (device == DeviceKind::cpu ? 20 : 24);
  const std::int64_t numbers = options_.tile_numbers > 0 ? options_.tile_numbers : usual;
  return numbers / (outputs() + 2 * options_.joint);
}

const Targets& Transducer::targets_of(const Context& context) const {
  if (context.targets == nullptr)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  return *context.targets;
}

// The gradients of the joint network's weights count as work of backward_input, which adds them up.
LayerPlan Transducer::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t J = options_.joint, K = outputs();
  if (x.channels != J)
    throw ShapeError(fmt::format("{} was given {} channels, expected the {} of its joint network",
                                 name(), x.channels, J));
  std::vector<std::int64_t> positions = input.labels_or_usual();
  for (std::int64_t& count : positions) ++count;
  const Batch batch(x.lengths, std::move(positions), tile_cells(sizes.device));
  const DType wide = arithmetic_of(sizes.compute);
  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(static_cast<double>(J))};
  const auto own = [](Life life, DType dtype, Shape shape, bool for_weights = false) {
    return SavedDecl{SavedDecl::Kind::own, life, dtype, std::move(shape), for_weights};
  };

  LayerPlan plan = prediction_.plan(batch.positions, sizes);
  plan.workspace = workspace(batch, plan, sizes);
  plan.output = {input.dtype, {}};
  plan.params.push_back({name() + ".joint.weight", {K, J}, start});
  plan.params.push_back({name() + ".joint.bias", {K}, start});
  std::vector<SavedDecl> saved = {
      {SavedDecl::Kind::input, Life::to_backward_input},
      own(Life::to_backward_weight, DType::i32, {batch.all_positions}),
      own(Life::to_backward_input, wide, {batch.cells, scores()}),
      own(Life::to_backward_input, sizes.compute, {batch.all_positions, J}),
      own(Life::carried, wide, {K, J}, true),
      own(Life::carried, wide, {K}, true)};
  saved.insert(saved.end(), plan.saved.begin(), plan.saved.end());
  plan.saved = std::move(saved);

  const auto cells = static_cast<double>(batch.cells), j = static_cast<double>(J),
             k = static_cast<double>(K), arcs = 2 * static_cast<double>(scores() - 1);
  const double joined = cells * (2 * j * k + 2 * j), pass = 20 * cells * arcs;
  plan.flops.forward += joined + 10 * cells * k + pass;
  plan.flops.backward_input += joined + cells * (4 * j * k + 10 * k + 4 * j) + pass;
  plan.flops.backward_weight += k * j;
  plan.work = Work::product;
  plan.needs_targets = true;
  return plan;
}

// Returns the memory for FP32 copies of the operands of one operation of a tile on the CPU: the
// largest of those that join() and its reverse run.
Workspace Transducer::tile_copies(const Batch& batch, const BackendSizes& sizes) const {
  const auto [frames, positions, cells] = batch.tile;
  const std::int64_t J = options_.joint, K = outputs(), hidden = cells * J, logits = cells * K;
  const std::size_t joined = std::max(widened(sizes, {frames * J, positions * J, hidden}),
                                      widened(sizes, {hidden, K * J, K, logits}));
  return {
      std::max(joined, widened(sizes, {logits})),
      std::max({joined, widened(sizes, {logits, logits}), widened(sizes, {logits, K * J, hidden}),
                widened(sizes, {hidden, logits}), widened(sizes, {hidden, hidden, frames * J})}),
      0};
}

// In evaluation nothing is saved, so ids, scores and rows of the prediction network take scratch
// memory. The steps follow each other, and share what is left.
Workspace Transducer::workspace(const Batch& batch, const LayerPlan& prediction,
                                const BackendSizes& sizes) const {
  const DType wide = arithmetic_of(sizes.compute);
  Scratch kept, forward, dpredicted, backward;
  (void)tensor_in(kept, DType::i32, {batch.all_positions});
  (void)tensor_in(kept, wide, {batch.cells, scores()});
  (void)tensor_in(kept, sizes.compute, {batch.all_positions, options_.joint});
  (void)TileRoom(forward, batch, options_, sizes.compute, false);
  (void)tensor_in(dpredicted, wide, {batch.all_positions, options_.joint});
  (void)TileRoom(backward, batch, options_, sizes.compute, true);
  std::vector<std::int32_t> labels;
  for (const std::int64_t count : batch.positions)
    labels.push_back(static_cast<std::int32_t>(count - 1));
  const Workspace copies = tile_copies(batch, sizes);
  return {
      kept.used() + std::max({prediction.workspace.forward, forward.used() + copies.forward,
                              transducer_lattice_workspace(sizes.device, batch.lengths, labels)}),
      dpredicted.used() +
          std::max(prediction.workspace.backward_input, backward.used() + copies.backward_input),
      prediction.workspace.backward_weight};
}

void Transducer::join(Context& context, const Params& params, const TransducerTile& tile,
                      const Tensor& x_FJ, const Tensor& predicted_PJ, const TileRoom& room) const {
  const Tensor hidden_CJ = rows(room.hidden_CJ, 0, tile.cells());
  context.backend.run(
      context.stream,
      JointCells{.kind = options_.nonlinearity,
                 .encoded_TJ = rows(x_FJ, tile.first_frame, tile.frames),
                 .predicted_UJ = rows(predicted_PJ, tile.first_position, tile.positions),
                 .hidden_CJ = hidden_CJ});
  context.backend.run(context.stream,
                      LinearForward{.x_FI = hidden_CJ,
                                    .w_OI = params.weights[params.weights.size() - 2],
                                    .b_O = params.weights.back(),
                                    .y_FO = rows(room.logits_CK, 0, tile.cells())});
}

// Saved tensors were laid out for the numbers of labels that the plan knew.
Transducer::Kept Transducer::kept_in(Saved saved, Scratch& scratch, const Batch& batch,
                                     DType dtype) const {
  const Shape cells{batch.cells, scores()}, positions{batch.all_positions};
  if (saved.empty())
    return {tensor_in(scratch, DType::i32, positions),
            tensor_in(scratch, arithmetic_of(dtype), cells),
            tensor_in(scratch, dtype, {batch.all_positions, options_.joint})};
  if (saved[kIds].shape != positions || saved[kScores].shape != cells)
    throw ShapeError(fmt::format(
        "{} was planned for {} positions and {} cells, but its labels have {} and {}: plan with "
        "ActivationDecl::labels",
        name(), saved[kIds].shape[0], saved[kScores].shape[0], batch.all_positions, batch.cells));
  return {saved[kIds], saved[kScores], saved[kPredicted]};
}

void Transducer::forward(Context& context, const Params& params, const Activation& x, Activation&,
                         Saved saved) const {
  const Targets& targets = targets_of(context);
  const Frames& frames = x.only();
  expect_transducer_targets(targets, frames.lengths, options_.classes);
  const Batch batch(frames.lengths, targets, tile_cells(context.backend.kind()));
  Scratch scratch(context.workspace);
  const Kept kept = kept_in(saved, scratch, batch, frames.x_FC.dtype);
  const std::vector<std::int32_t> ids = ids_of(targets);
  context.backend.copy_in(context.stream, kept.ids_P.data, ids.data(), kept.ids_P.bytes());
  Context texts = batch.of_texts(context, scratch);
  prediction_.forward(texts, params.weights.first(params.weights.size() - 2), kept.ids_P,
                      kept.predicted_PJ, of_prediction(saved));
  Scratch of_tiles(texts.workspace);
  const TileRoom room(of_tiles, batch, options_, frames.x_FC.dtype, false);
  for (const TransducerTile& tile : batch.tiles(tile_cells(context.backend.kind()))) {
    join(context, params, tile, frames.x_FC, kept.predicted_PJ, room);
    context.backend.run(
        context.stream,
        TransducerScores{.logits_CK = rows(room.logits_CK, 0, tile.cells()),
                         .labels_U = labels_of(tile, kept.ids_P),
                         .tokens = options_.classes,
                         .sigma = options_.sigma,
                         .scores_CS = rows(kept.scores_CS, tile.first_cell, tile.cells())});
  }
  context.backend.run(context.stream, TransducerLattice{.scores_CS = kept.scores_CS,
                                                        .lengths = frames.lengths,
                                                        .targets = targets,
                                                        .durations = options_.durations,
                                                        .train = !saved.empty(),
                                                        .workspace = texts.workspace});
}

void Transducer::backward_input(Context& context, const Params& params, const Activation&,
                                Saved saved, Activation& dx) const {
  const Batch batch(context.lengths, targets_of(context), tile_cells(context.backend.kind()));
  const DType dtype = saved[kPredicted].dtype;
  Scratch scratch(context.workspace);
  (void)kept_in(saved, scratch, batch, dtype);  // checks that these are the labels of forward
  const Tensor dpredicted_PJ = tensor_in(scratch, arithmetic_of(dtype), saved[kPredicted].shape);
  zero(context, dpredicted_PJ);
  if (is_trained(saved)) {
    zero(context, saved[kJointWeight]);
    zero(context, saved[kJointBias]);
  }
  Context texts = batch.of_texts(context, scratch);
  Scratch of_tiles(texts.workspace);
  const TileRoom room(of_tiles, batch, options_, dtype, true);
  for (const TransducerTile& tile : batch.tiles(tile_cells(context.backend.kind()))) {
    join(context, params, tile, saved[kInput], saved[kPredicted], room);
    const Tensor to = dx.empty() ? rows(room.dencoded_TJ, 0, tile.frames)
                                 : rows(dx.only().x_FC, tile.first_frame, tile.frames);
    separate(context, params, tile, saved, room, {to, dpredicted_PJ});
  }
  if (is_trained(saved))
    prediction_.backward_input(texts, params.weights.first(params.weights.size() - 2),
                               dpredicted_PJ, of_prediction(saved));
}

// The logits' gradient takes the place of the logits.
void Transducer::separate(Context& context, const Params& params, const TransducerTile& tile,
                          Saved saved, const TileRoom& room, const JointGradients& to) const {
  const auto run = [&](const auto& operation) { context.backend.run(context.stream, operation); };
  const Tensor logits_CK = rows(room.logits_CK, 0, tile.cells()),
               hidden_CJ = rows(room.hidden_CJ, 0, tile.cells()),
               dhidden_CJ = rows(room.dhidden_CJ, 0, tile.cells());
  run(TransducerLogitGradient{.logits_CK = logits_CK,
                              .labels_U = labels_of(tile, saved[kIds]),
                              .tokens = options_.classes,
                              .occupancies_CS = rows(saved[kScores], tile.first_cell, tile.cells()),
                              .dlogits_CK = logits_CK});
  run(LinearBackwardInput{
      .dy_FO = logits_CK, .w_OI = params.weights[params.weights.size() - 2], .dx_FI = dhidden_CJ});
  if (is_trained(saved))
    run(LinearBackwardWeight{.x_FI = hidden_CJ,
                             .dy_FO = logits_CK,
                             .dw_OI = saved[kJointWeight],
                             .db_O = saved[kJointBias]});
  run(JointCellsBackward{
      .kind = options_.nonlinearity,
      .hidden_CJ = hidden_CJ,
      .dhidden_CJ = dhidden_CJ,
      .dencoded_TJ = to.dencoded_TJ,
      .dpredicted_UJ = rows(to.dpredicted_PJ, tile.first_position, tile.positions)});
}

void Transducer::backward_weight(Context& context, Saved saved, Grads grads) const {
  const Batch batch(context.lengths, targets_of(context), tile_cells(context.backend.kind()));
  Context texts = batch.of_texts(context, Scratch());
  const std::size_t joint = grads.size() - 2;
  prediction_.backward_weight(texts, saved[kIds], of_prediction(saved), grads.first(joint));
  for (std::size_t i = 0; i < 2; ++i)
    context.backend.run(context.stream,
                        AddScaled{grads[joint + i], saved[kJointWeight + i], grads[joint + i]});
}

}  // namespace penstock::layers
