#include "layers/nn/cross_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/key_value_cache.h"
#include "layers/nn/on_matrix.h"
#include "layers/ops/attention_cached.h"
#include "layers/ops/columns.h"
#include "layers/ops/elementwise.h"
#include "layers/philox.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// The unit computes k and v of all the memory's rows first, and hands them to its parts by
// Context::memory, where the core finds them. Backward runs the parts, whose core leaves the
// gradient of k and v, and then the product that made them.
//
// Saved tensors of a unit are k and v, then those of `keys`, then those of the unit. The gradient
// of k and v lies where `keys` keeps the gradient of its output, or in scratch if it is frozen.

namespace penstock::layers {
namespace {

enum CrossSaved { kQuery, kOutput, kLogSums };

constexpr std::size_t kKeys = 0;  // the unit's saved k and v
constexpr std::size_t kFirstOfKeys = 1;

std::vector<std::int64_t> ones(std::size_t count) { return std::vector<std::int64_t>(count, 1); }

/// Returns the tensor [rows, channels] of one utterance's keys, or values, in a cache.
Tensor cached_rows(const Tensor& tensor_UTC, std::size_t utterance, std::int64_t count) {
  const std::int64_t capacity = tensor_UTC.shape[1], channels = tensor_UTC.shape[2];
  const Tensor all{tensor_UTC.data, tensor_UTC.dtype, {tensor_UTC.shape[0] * capacity, channels}};
  return rows(all, static_cast<std::int64_t>(utterance) * capacity, count);
}

/// Returns the channels of k and v together.
std::int64_t key_columns_of(const Layer& keys, std::int64_t width) {
  return keys.plan({DType::f32, {{{1}, width}}}, {}).output.only().channels;
}

}  // namespace

CrossAttention::CrossAttention(CrossAttentionOptions options) : options_(std::move(options)) {
  const auto& [name, channels, heads, kv_heads, dropout] = options_;
  if (heads < 1 || channels < 1 || channels % heads != 0)
    throw ShapeError(fmt::format("{} has {}, which {} of attention do not divide evenly", name,
                                 counted(channels, "channel"), counted(heads, "head")));
  if (kv_heads < 0 || (kv_heads > 0 && heads % kv_heads != 0))
    throw ShapeError(fmt::format("{} has {}, among which {} of k and v can't be shared evenly",
                                 name, counted(heads, "head"), kv_heads));
  if (!(dropout >= 0 && dropout < 1))
    throw ShapeError(
        fmt::format("{} drops a share of {:g} of its weights; it must be at least 0 "
                    "and less than 1",
                    name, dropout));
}

std::int64_t CrossAttention::key_channels() const { return geometry({}, {}).key_channels(); }

AttentionGeometry CrossAttention::geometry(std::span<const std::int64_t> lengths,
                                           std::span<const std::int64_t> keys) const {
  return {.heads = options_.heads,
          .channels = options_.channels,
          .kv_heads = options_.kv_heads,
          .lengths = lengths,
          .key_lengths = keys};
}

DropoutMask CrossAttention::dropout(const Context& context) const {
  if (context.mode == Mode::train && options_.dropout > 0 &&
      context.random.utterances.size() != context.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the rows of {}", name(),
                                 counted(context.random.utterances.size(), "utterance"),
                                 context.lengths.size()));
  return {.random = context.random,
          .layer = hash_of_name(options_.name),
          .lengths = context.lengths,
          .probability = context.mode == Mode::train ? options_.dropout : 0};
}

LayerPlan CrossAttention::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t C = options_.channels;
  if (x.channels != C)
    throw ShapeError(fmt::format("{} was given {}, expected q of {}", name(),
                                 counted(x.channels, "channel"), C));
  const std::vector<std::int64_t> keys =
      input.memory.empty() ? ones(x.lengths.size()) : input.memory;
  const AttentionGeometry shape = geometry(x.lengths, keys);
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, C}}};
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                {SavedDecl::Kind::output, Life::to_backward_input},
                {SavedDecl::Kind::own,
                 Life::to_backward_input,
                 arithmetic_of(input.dtype),
                 {options_.heads, x.rows()}}};
  plan.workspace = attention_workspace(sizes, shape, false);
  plan.workspace.forward =
      std::max(plan.workspace.forward, attention_cached_workspace(sizes, shape));
  plan.cache_channels = shape.key_channels();
  double pairs = 0;  // pairs of a row and a row of the memory
  std::int64_t all_keys = 0;
  for (std::size_t u = 0; u < keys.size(); ++u) {
    pairs += static_cast<double>(x.lengths[u]) * static_cast<double>(keys[u]);
    all_keys += keys[u];
  }
  const double product = 2 * pairs * static_cast<double>(C);
  plan.flops = {2 * product, 5 * product, 0};
  const std::int64_t q = x.rows() * C, kv = all_keys * 2 * shape.key_channels();
  add_copies(plan.workspace, {widened(sizes, {q, kv, q}), widened(sizes, {q, kv, q, q, q, kv}), 0});
  plan.work = Work::attention;
  return plan;
}

void CrossAttention::forward(Context& context, const Params&, const Activation& x, Activation& y,
                             Saved saved) const {
  if (context.memory == nullptr)
    throw ShapeError(name() + " was run without a memory: set Context::memory");
  const AttendedMemory& memory = *context.memory;
  const Tensor &q = x.only().x_FC, &to = y.only().x_FC;
  if (memory.kv_MP.data == nullptr && context.cache != nullptr) {
    context.backend.run(context.stream,
                        AttentionCached{.geometry = geometry(context.lengths, context.cache->past),
                                        .qkv_FP = q,
                                        .cache = *context.cache,
                                        .y_FC = to,
                                        .workspace = context.workspace});
    return;
  }
  if (memory.lengths.size() != context.lengths.size() || std::ranges::count(memory.lengths, 0) > 0)
    throw ShapeError(
        fmt::format("{} attends to the memories of {}, and was given those of {}; "
                    "each needs 1 row or more",
                    name(), counted(context.lengths.size(), "utterance"), memory.lengths.size()));
  context.backend.run(
      context.stream,
      AttentionForward{.geometry = geometry(context.lengths, memory.lengths),
                       .qkv_FP = q,
                       .kv_MP = memory.kv_MP,
                       .dropout = dropout(context),
                       .y_FC = to,
                       .log_sums_HF = context.mode == Mode::train ? saved[kLogSums] : Tensor{},
                       .workspace = context.workspace});
}

void CrossAttention::backward_input(Context& context, const Params&, const Activation& dy,
                                    Saved saved, Activation& dx) const {
  const AttendedMemory& memory = *context.memory;
  context.backend.run(context.stream,
                      AttentionBackward{.geometry = geometry(context.lengths, memory.lengths),
                                        .qkv_FP = saved[kQuery],
                                        .kv_MP = memory.kv_MP,
                                        .dropout = dropout(context),
                                        .y_FC = saved[kOutput],
                                        .log_sums_HF = saved[kLogSums],
                                        .dy_FC = dy.only().x_FC,
                                        .dqkv_FP = dx.only().x_FC,
                                        .dkv_MP = memory.dkv_MP,
                                        .workspace = context.workspace});
}

CrossAttentionUnit::CrossAttentionUnit(CrossAttentionUnitOptions options)
    : name_(std::move(options.name)),
      key_columns_(key_columns_of(*options.keys, options.width)),
      keys_(std::move(options.keys), options.width),
      unit_(std::move(options.unit), options.width) {}

std::vector<ActivationDecl> CrossAttentionUnit::inputs_of_inner(const ActivationDecl& input) const {
  expect_memory_and_text(input, name_);
  const auto& memory = input.frames[OnMatrix::memory];
  ActivationDecl text{input.dtype, {input.frames[OnMatrix::text]}};
  text.memory = memory.lengths;
  return {{input.dtype, {memory}}, std::move(text)};
}

Params CrossAttentionUnit::of_keys(const Params& params) const {
  return {params.weights.first(keys_.parameters()), {}};
}

Params CrossAttentionUnit::of_unit(const Params& params) const {
  return {params.weights.subspan(keys_.parameters()), {}};
}

// In evaluation k and v take scratch memory.
LayerPlan CrossAttentionUnit::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const std::vector<ActivationDecl> inputs = inputs_of_inner(input);
  const InnerPlan keys = keys_.plan(inputs[0], sizes), unit = unit_.plan(inputs[1], sizes);
  const FramesDecl& kv = keys.plan.output.only();
  LayerPlan plan;
  plan.output = {input.dtype, input.frames};
  add_work(plan, keys.plan);
  add_work(plan, unit.plan);
  plan.saved = {{SavedDecl::Kind::own, Life::to_backward_input, input.dtype, kv.shape()}};
  plan.saved.insert(plan.saved.end(), keys.saved.begin(), keys.saved.end());
  plan.saved.insert(plan.saved.end(), unit.saved.begin(), unit.saved.end());
  plan.cache_channels = unit.plan.cache_channels;
  plan.caches_memory = true;

  Scratch one;
  (void)tensor_in(one, input.dtype, kv.shape());
  const std::int64_t n = element_count(inputs[0].only().shape());
  const Workspace &a = keys.plan.workspace, &b = unit.plan.workspace;
  plan.workspace.forward = one.used() + std::max(a.forward, b.forward);
  plan.workspace.backward_input =
      (keys.output_gradient < 0 ? one.used() : 0) +
      std::max({a.backward_input, b.backward_input, widened(sizes, {n, n, n})});
  plan.workspace.backward_weight = std::max(a.backward_weight, b.backward_weight);
  plan.flops.forward += static_cast<double>(n);
  plan.flops.backward_input += 2 * static_cast<double>(n);
  return plan;
}

// While a text is written, its memory has no rows, and the cache has what follows from them.
void CrossAttentionUnit::forward(Context& context, const Params& params, const Activation& x,
                                 Activation& y, Saved saved) const {
  const Frames &from = x.frames[OnMatrix::memory], &text = x.frames[OnMatrix::text];
  const Tensor& to = y.frames[OnMatrix::memory].x_FC;
  context.backend.copy(context.stream, to.data, from.x_FC.data, to.bytes());
  Context part = context;
  AttendedMemory memory{.lengths = from.lengths, .kv_MP = {}};
  const std::size_t of_keys = saved.empty() ? 0 : keys_.tensors();
  if (from.rows() > 0) {
    Scratch scratch(context.workspace);
    memory.kv_MP = !saved.empty()
                       ? saved[kKeys]
                       : tensor_in(scratch, from.x_FC.dtype, {from.rows(), key_columns_});
    part.workspace = context.workspace.subspan(scratch.used());
    keys_.forward(part, this->of_keys(params), {from.lengths, from.x_FC, memory.kv_MP},
                  saved.empty() ? saved : saved.subspan(kFirstOfKeys, of_keys));
    if (context.cache != nullptr) fill_cache(context, memory);
    part.cache = nullptr;
  }
  part.memory = &memory;
  unit_.forward(part, of_unit(params), {text.lengths, text.x_FC, y.frames[OnMatrix::text].x_FC},
                saved.empty() ? saved : saved.subspan(kFirstOfKeys + of_keys));
}

void CrossAttentionUnit::fill_cache(Context& context, const AttendedMemory& memory) const {
  const KeyValueCache& cache = *context.cache;
  const std::int64_t channels = memory.kv_MP.shape[1] / 2;
  if (cache.channels() != channels || std::ranges::max(memory.lengths) > cache.capacity())
    throw ShapeError(fmt::format(
        "{} keeps keys of {} for memories of up to {}, and was given a cache of {} for {}", name_,
        counted(channels, "channel"), counted(std::ranges::max(memory.lengths), "row"),
        counted(cache.channels(), "channel"), counted(cache.capacity(), "row")));
  std::int64_t row = 0;
  for (std::size_t u = 0; u < memory.lengths.size(); ++u) {
    const std::int64_t count = memory.lengths[u];
    const Tensor from = rows(memory.kv_MP, row, count);
    context.backend.run(context.stream,
                        CastColumns{from, cached_rows(cache.keys_UTC, u, count), channels, 0, 0});
    context.backend.run(context.stream, CastColumns{from, cached_rows(cache.values_UTC, u, count),
                                                    channels, channels, 0});
    row += count;
  }
}

void CrossAttentionUnit::backward_input(Context& context, const Params& params,
                                        const Activation& dy, Saved saved, Activation& dx) const {
  const Frames &passing = dy.frames[OnMatrix::memory], &text = dy.frames[OnMatrix::text];
  const std::size_t of_keys = keys_.tensors();
  const Saved own = saved.subspan(kFirstOfKeys, of_keys);
  Scratch scratch(context.workspace);
  const int kept = keys_.output_gradient();
  AttendedMemory memory{.lengths = passing.lengths, .kv_MP = saved[kKeys]};
  memory.dkv_MP = kept >= 0 && own[kept].data != nullptr
                      ? own[kept]
                      : tensor_in(scratch, memory.kv_MP.dtype, memory.kv_MP.shape);
  Context part = context;
  part.workspace = context.workspace.subspan(scratch.used());
  part.memory = &memory;
  unit_.backward_input(
      part, of_unit(params),
      {text.lengths, text.x_FC, dx.empty() ? Tensor{} : dx.frames[OnMatrix::text].x_FC},
      saved.subspan(kFirstOfKeys + of_keys));
  const Tensor to = dx.empty() ? Tensor{} : dx.frames[OnMatrix::memory].x_FC;
  keys_.backward_input(part, this->of_keys(params), {passing.lengths, memory.dkv_MP, to}, own);
  if (!dx.empty())
    context.backend.run(context.stream, AddScaled{.x = passing.x_FC, .f = to, .y = to});
}

void CrossAttentionUnit::backward_weight(Context& context, Saved saved, Grads grads) const {
  const std::size_t of_keys = keys_.tensors(), parameters = keys_.parameters();
  keys_.backward_weight(context, context.lengths, saved.subspan(kFirstOfKeys, of_keys),
                        grads.first(parameters));
  unit_.backward_weight(context, context.text_lengths, saved.subspan(kFirstOfKeys + of_keys),
                        grads.subspan(parameters));
}

}  // namespace penstock::layers
