#include "layers/nn/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/nn/pieces.h"
#include "layers/ops/attention_cached.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/linear.h"
#include "layers/ops/positions.h"
#include "layers/philox.h"
#include "layers/scratch.h"
#include "layers/widened.h"

namespace penstock::layers {

// The layer wraps AttentionForward and AttentionBackward (layers/ops/attention.h). With relative
// positions, forward first makes a row r for each of the 2n - 1 distances of the longest utterance:
// by a product of their sinusoids with a weight (Transformer-XL), or by expanding learned vectors
// (Shaw). backward_input leaves the gradients of these rows and of the biases u and v, which are
// carried, and backward_weight turns them into gradients of the parameters. Sinusoids are never
// saved: backward_weight recomputes them.

namespace {

// These are the places in LayerPlan::saved: the input [F, P], the output [F, C] and log Σ e^s
// [heads, F]. With relative positions alone, also the rows r [X, C], their gradient [X, C], and the
// gradients of u and v [2, C], for X = 2n - 1 distances.
enum AttentionSaved { kInput, kOutput, kLogSums, kProjected, kProjectedGradient, kBiasGradients };
enum AttentionParams { kPositions, kBiasU, kBiasV };

/// Makes zero biases of q, since Shaw's positions have none.
Tensor zeros_in(Context& context, Scratch& scratch, DType dtype, std::int64_t channels) {
  Tensor zeros = tensor_in(scratch, arithmetic_of(dtype), {channels});
  context.backend.zero(context.stream, zeros.data, zeros.bytes());
  return zeros;
}

/// Fills 2n - 1 rows with the sinusoids of distances, from n - 1 down.
PositionTable distances_in(const Tensor& table_XC) {
  return {.table_XC = table_XC, .first = (table_XC.shape[0] - 1) / 2, .step = -1};
}

/// Views the gradient of u (0) or of v (1).
Tensor half_of(const Tensor& biases_2C, std::int64_t which) {
  const std::int64_t C = biases_2C.shape[1];
  auto* data = static_cast<std::byte*>(biases_2C.data);
  return {
      data + static_cast<std::size_t>(which * C) * size_of(biases_2C.dtype), biases_2C.dtype, {C}};
}

}  // namespace

Attention::Attention(AttentionOptions options) : options_(std::move(options)) {
  const auto& [name, channels, heads, kv_heads, positions, rotary_base, left, right, left_positions,
               right_positions, dropout, window] = options_;
  if (heads < 1 || channels < 1 || channels % heads != 0)
    throw ShapeError(fmt::format("{} has {}, which {} of attention do not divide evenly", name,
                                 counted(channels, "channel"), counted(heads, "head")));
  if (positions == AttentionPositions::rotary && channels / heads % 2 != 0)
    throw ShapeError(fmt::format("{} rotates pairs of channels, but each of its heads has {}", name,
                                 counted(channels / heads, "channel")));
  if (positions == AttentionPositions::rotary && !(rotary_base > 0))
    throw ShapeError(
        fmt::format("{} has rotary positions of base {:g}; it must be above 0", name, rotary_base));
  check_key_heads();
  if (left < 0 || right < 0)
    throw ShapeError(
        fmt::format("{} sees {} frames to the left and {} to the right; neither may "
                    "be negative",
                    name, left, right));
  if (window < 0 || (window > 0 && positions != AttentionPositions::none))
    throw ShapeError(fmt::format(
        "{} has windows of {} frames; they need no positions, and 0 or more frames", name, window));
  if (left_positions < 0 || right_positions < 0)
    throw ShapeError(
        fmt::format("{} tells {} frames to the left and {} to the right apart; neither may be "
                    "negative",
                    name, left_positions, right_positions));
  if (!(dropout >= 0 && dropout < 1))
    throw ShapeError(
        fmt::format("{} drops a share of {:g} of its weights; it must be at least 0 "
                    "and less than 1",
                    name, dropout));
}

void Attention::check_key_heads() const {
  const auto& [heads, kv_heads] = std::pair{options_.heads, options_.kv_heads};
  if (kv_heads < 0 || (kv_heads > 0 && heads % kv_heads != 0))
    throw ShapeError(fmt::format("{} has {}, among which {} of k and v can't be shared evenly",
                                 name(), counted(heads, "head"), kv_heads));
  if (relative() && kv_heads > 0 && kv_heads != heads)
    throw ShapeError(
        fmt::format("{} has relative positions, for which its {} need k and v of "
                    "their own, but there are {}",
                    name(), counted(heads, "head"), kv_heads));
}

AttentionGeometry Attention::geometry(std::span<const std::int64_t> lengths) const {
  return {
      .heads = options_.heads,
      .channels = options_.channels,
      .kv_heads = options_.kv_heads,
      .left = options_.left,
      .right = options_.right,
      .rotary_base = options_.positions == AttentionPositions::rotary ? options_.rotary_base : 0,
      .lengths = lengths};
}

std::vector<std::int64_t> Attention::windows(std::span<const std::int64_t> lengths) const {
  return pieces_of(lengths, options_.window);
}

// The number of windows depends on how frames are spread over utterances. A plan must hold for all
// utterances of as many frames in sum, so it has as many windows as there may be.
std::vector<std::int64_t> Attention::most_windows(std::span<const std::int64_t> lengths) const {
  std::vector<std::int64_t> most = windows(lengths);
  if (options_.window == 0) return most;
  const std::int64_t rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  most.resize(static_cast<std::size_t>(rows / options_.window) + lengths.size(), 1);
  return most;
}

// Only dropout reads the random key, so the utterances are checked only for it.
std::vector<std::uint64_t> Attention::keys(const Context& context) const {
  if (context.mode != Mode::train || options_.dropout == 0) return {};
  if (context.random.utterances.size() != context.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the frames of {}", name(),
                                 counted(context.random.utterances.size(), "utterance"),
                                 context.lengths.size()));
  return keys_of_pieces(context.lengths, options_.window, context.random.utterances);
}

// The mask follows from the layer's name, so backward samples the same one again.
DropoutMask Attention::dropout(const Context& context, std::span<const std::int64_t> windows,
                               std::span<const std::uint64_t> keys) const {
  RandomKey random = context.random;
  if (!keys.empty()) random.utterances = keys;
  return {.random = random,
          .layer = hash_of_name(options_.name),
          .lengths = windows,
          .probability = context.mode == Mode::train ? options_.dropout : 0};
}

std::int64_t Attention::distance_count() const {
  return options_.left_positions + 1 + options_.right_positions;
}

// The biases u and v start at 0 and stay in full precision, as the parameters of norms do.
std::vector<ParamDecl> Attention::position_params() const {
  const std::int64_t C = options_.channels, d = C / options_.heads;
  const auto start = [](std::int64_t inputs) {
    return Initialiser{Initialiser::Kind::uniform, 1 / std::sqrt(static_cast<double>(inputs))};
  };
  if (shaw()) return {{name() + ".positions.weight", {distance_count(), d}, start(d)}};
  return {{name() + ".positions.weight", {C, C}, start(C)},
          {name() + ".bias_u", {C}, {}, true},
          {name() + ".bias_v", {C}, {}, true}};
}

// Adds to the plan what relative positions cost. Sizes count the same calls of tensor_in() as the
// methods below make.
void Attention::declare_positions(LayerPlan& plan, const ActivationDecl& input) const {
  const std::int64_t C = options_.channels;
  const AttentionGeometry shape = geometry(input.only().lengths);
  plan.params = position_params();
  const DType sums = arithmetic_of(input.dtype);
  const Shape table{shape.distances(), C};
  plan.saved.push_back({SavedDecl::Kind::own, Life::to_backward_input, input.dtype, table});
  plan.saved.push_back({SavedDecl::Kind::own, Life::carried, sums, table});
  plan.saved.push_back({SavedDecl::Kind::own, Life::carried, sums, {2, C}});
  Scratch one, wide, zeros;
  (void)tensor_in(one, input.dtype, table);
  if (shaw()) {
    (void)tensor_in(zeros, sums, {C});
    plan.workspace.forward += zeros.used() + one.used();
    plan.workspace.backward_input += zeros.used();
    plan.flops.backward_weight += static_cast<double>(shape.distances() * C);
    return;
  }
  (void)tensor_in(wide, sums, table);
  // In evaluation the projected table precedes the memory that sinusoids and attention share.
  plan.workspace.forward = one.used() + std::max(plan.workspace.forward, one.used());
  plan.workspace.backward_weight = wide.used();
  const double product = 2.0 * static_cast<double>(shape.distances() * C * C);
  plan.flops.forward += product;
  plan.flops.backward_weight += product;
}

/// Returns the memory for FP32 copies on the CPU: those of attention or, if larger, those of the
/// operation that makes the rows of distances.
Workspace Attention::copies(const BackendSizes& sizes, const FramesDecl& x) const {
  const std::vector<std::int64_t> cut = windows(x.lengths);
  const AttentionGeometry shape = geometry(cut);
  const std::int64_t C = options_.channels, y = x.rows() * C, qkv = x.rows() * shape.columns(),
                     table = relative() ? shape.distances() * C : 0;
  std::size_t rows = 0;
  if (shaw())
    rows = widened(sizes, {distance_count() * C / options_.heads, table});
  else if (relative())
    rows = widened(sizes, {table, C * C, table});
  return {std::max(widened(sizes, {qkv, table, y}), rows), widened(sizes, {qkv, table, y, y, qkv}),
          0};
}

LayerPlan Attention::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t C = options_.channels;
  const std::vector<std::int64_t> cut = windows(x.lengths);
  const AttentionGeometry shape = geometry(cut);
  if (x.channels != shape.columns())
    throw ShapeError(fmt::format("{} was given {}, expected q of {}, and k and v of {} each",
                                 name(), counted(x.channels, "channel"), C, shape.key_channels()));
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, C}}};
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                {SavedDecl::Kind::output, Life::to_backward_input},
                {SavedDecl::Kind::own,
                 Life::to_backward_input,
                 arithmetic_of(input.dtype),
                 {options_.heads, x.rows()}}};
  const std::vector<std::int64_t> most = most_windows(x.lengths);
  plan.workspace = attention_workspace(sizes, geometry(most), relative());
  if (goes_on()) {
    plan.cache_channels = shape.key_channels();
    plan.workspace.forward =
        std::max(plan.workspace.forward, attention_cached_workspace(sizes, shape));
  }
  double pairs = 0;  // pairs of a frame and a frame that it sees
  for (const std::int64_t frames : cut) {
    const std::int64_t seen = std::min(frames, options_.left) + std::min(frames, options_.right);
    pairs += static_cast<double>(frames) * static_cast<double>(std::min(frames, seen + 1));
  }
  const double product = 2 * pairs * static_cast<double>(C);
  // Forward multiplies q · k and p · v. Backward repeats q · k, and multiplies for dp, dv, dq and
  // dk.
  plan.flops = {2 * product, 5 * product, 0};
  if (relative()) {
    plan.flops.forward += product;
    plan.flops.backward_input += 3 * product;
    declare_positions(plan, input);
  }
  add_copies(plan.workspace, copies(sizes, x));
  plan.work = Work::attention;
  return plan;
}

RelativePositions Attention::positions(const Params& params, const Tensor& rows_XC,
                                       const Tensor& zeros_C) const {
  if (shaw()) return {rows_XC, zeros_C, zeros_C};
  return {rows_XC, params.weights[kBiasU], params.weights[kBiasV]};
}

void Attention::make_distances(Context& context, const Params& params, const Tensor& rows_XC,
                               std::span<std::byte> workspace) const {
  const Tensor& weight = params.weights[kPositions];
  if (shaw()) {
    context.backend.run(context.stream,
                        ShawPositionsForward{weight, options_.left_positions, rows_XC});
    return;
  }
  Scratch scratch(workspace);
  const Tensor table = tensor_in(scratch, rows_XC.dtype, rows_XC.shape);
  context.backend.run(context.stream, distances_in(table));
  context.backend.run(context.stream,
                      LinearForward{.x_FI = table, .w_OI = weight, .b_O = {}, .y_FO = rows_XC});
}

// With relative positions, the workspace holds three things in this order: zero biases (Shaw), the
// rows r in evaluation, and memory that first the sinusoids and then the attention take. In
// training the rows lie in saved memory, since backward reads them.
void Attention::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                        Saved saved) const {
  if (context.mode == Mode::evaluate && context.cache != nullptr)
    return forward_cached(context, x, y);
  const DType dtype = x.only().x_FC.dtype;
  const bool training = context.mode == Mode::train;
  const std::vector<std::int64_t> cut = windows(context.lengths);
  const std::vector<std::uint64_t> random = keys(context);
  AttentionForward op{.geometry = geometry(cut),
                      .qkv_FP = x.only().x_FC,
                      .dropout = dropout(context, cut, random),
                      .y_FC = y.only().x_FC,
                      .log_sums_HF = training ? saved[kLogSums] : Tensor{},
                      .workspace = context.workspace};
  if (relative()) {
    const Shape shape{op.geometry.distances(), options_.channels};
    Scratch before(context.workspace);
    const Tensor zeros = shaw() ? zeros_in(context, before, dtype, shape[1]) : Tensor{};
    const Tensor rows = training ? saved[kProjected] : tensor_in(before, dtype, shape);
    op.workspace = context.workspace.subspan(before.used());
    make_distances(context, params, rows, op.workspace);
    op.relative = positions(params, rows, zeros);
  }
  context.backend.run(context.stream, op);
}

void Attention::forward_cached(Context& context, const Activation& x, Activation& y) const {
  if (!goes_on())
    throw ShapeError(
        fmt::format("{} can't go on where utterances ended, since it sees later frames or has "
                    "relative positions; it was given a cache",
                    name()));
  context.backend.run(context.stream, AttentionCached{.geometry = geometry(context.lengths),
                                                      .qkv_FP = x.only().x_FC,
                                                      .cache = *context.cache,
                                                      .y_FC = y.only().x_FC,
                                                      .workspace = context.workspace});
}

// With relative positions it also runs if no layer before this one needs dx: backward_weight needs
// the gradients of the rows and of the biases, which come out of the same pass.
void Attention::backward_input(Context& context, const Params& params, const Activation& dy,
                               Saved saved, Activation& dx) const {
  if (dx.empty() && !relative()) return;
  const std::vector<std::int64_t> cut = windows(context.lengths);
  const std::vector<std::uint64_t> random = keys(context);
  AttentionBackward op{.geometry = geometry(cut),
                       .qkv_FP = saved[kInput],
                       .dropout = dropout(context, cut, random),
                       .y_FC = saved[kOutput],
                       .log_sums_HF = saved[kLogSums],
                       .dy_FC = dy.only().x_FC,
                       .dqkv_FP = dx.empty() ? Tensor{} : dx.only().x_FC,
                       .workspace = context.workspace};
  if (relative()) {
    Scratch before(context.workspace);
    const Tensor zeros =
        shaw() ? zeros_in(context, before, op.dy_FC.dtype, options_.channels) : Tensor{};
    op.workspace = context.workspace.subspan(before.used());
    op.relative = positions(params, saved[kProjected], zeros);
    op.dr_XC = saved[kProjectedGradient];
    op.du_C = half_of(saved[kBiasGradients], 0);
    op.dv_C = half_of(saved[kBiasGradients], 1);
  }
  context.backend.run(context.stream, op);
}

// The rows are r = table · W^T, so dW += dr^T · table. The gradients of u and v are complete and
// are only added.
void Attention::backward_weight(Context& context, Saved saved, Grads grads) const {
  if (!relative()) return;
  const Tensor& gradient = saved[kProjectedGradient];
  if (shaw()) {
    context.backend.run(context.stream, ShawPositionsBackwardWeight{
                                            gradient, options_.left_positions, grads[kPositions]});
    return;
  }
  Scratch scratch(context.workspace);
  const Tensor table = tensor_in(scratch, gradient.dtype, gradient.shape);
  context.backend.run(context.stream, distances_in(table));
  context.backend.run(
      context.stream,
      LinearBackwardWeight{
          .x_FI = table, .dy_FO = gradient, .dw_OI = grads[kPositions], .db_O = {}});
  for (const int bias : {kBiasU, kBiasV}) {
    const Tensor sum = half_of(saved[kBiasGradients], bias - kBiasU);
    context.backend.run(context.stream, AddScaled{grads[bias], sum, grads[bias]});
  }
}

}  // namespace penstock::layers
