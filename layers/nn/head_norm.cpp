#include "layers/nn/head_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/columns.h"
#include "layers/ops/layer_norm.h"
#include "layers/scratch.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/layer_norm.h, which take rows that lie one after the
// other. So the columns of q are copied into a matrix of their own, in which each head of each
// frame is a row of head_channels numbers, and the result is copied back. Then the same is done for
// k, in the same memory. Statistics and the parameters' sums are kept as LayerNorm keeps them.

namespace penstock::layers {
namespace {

enum HeadNormSaved { kInput, kQueryStatistics, kQuerySums, kKeyStatistics, kKeySums };

}  // namespace

/// The columns of q or of k, and the places of what belongs to them.
struct HeadNorm::Part {
  std::int64_t heads, channels, first_column;
  std::size_t param, statistics, sums;

  std::int64_t columns() const { return heads * channels; }
  /// Makes a matrix in which each head of a frame is a row.
  Tensor rows_in(Scratch& scratch, DType dtype, std::int64_t frames) const {
    return tensor_in(scratch, dtype, {frames * heads, channels});
  }
  /// Copies this part's columns of a matrix into such rows, or back.
  void take(Context& context, const Tensor& from_FP, Tensor rows) const {
    rows.shape = {from_FP.shape[0], columns()};
    context.backend.run(context.stream, CastColumns{from_FP, rows, columns(), first_column, 0});
  }
  void put(Context& context, Tensor rows, const Tensor& to_FP) const {
    rows.shape = {to_FP.shape[0], columns()};
    context.backend.run(context.stream, CastColumns{rows, to_FP, columns(), 0, first_column});
  }
};

HeadNorm::HeadNorm(HeadNormOptions options) : options_(std::move(options)) {
  const auto& [name, heads, kv_heads, channels, epsilon] = options_;
  if (heads < 1 || kv_heads < 1 || channels < 1)
    throw ShapeError(
        fmt::format("{} normalises {} of q and {} of k, with {} each; it needs 1 or more of each",
                    name, counted(heads, "head"), kv_heads, counted(channels, "channel")));
}

HeadNorm::Part HeadNorm::queries() const {
  return {options_.heads, options_.head_channels, 0, 0, kQueryStatistics, kQuerySums};
}

HeadNorm::Part HeadNorm::keys() const {
  return {options_.kv_heads,
          options_.head_channels,
          options_.heads * options_.head_channels,
          1,
          kKeyStatistics,
          kKeySums};
}

LayerPlan HeadNorm::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (x.channels != columns())
    throw ShapeError(fmt::format("{} was given {}, expected {} of q, k and v", name(),
                                 counted(x.channels, "channel"), columns()));
  const std::int64_t D = options_.head_channels, F = x.rows();
  LayerPlan plan;
  plan.output = input;
  for (const char* of : {".q.weight", ".k.weight"})
    plan.params.push_back({name() + of, {D}, {Initialiser::Kind::constant, 1}, true});
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input}};
  for (const std::int64_t heads : {options_.heads, options_.kv_heads}) {
    plan.saved.push_back({SavedDecl::Kind::own,
                          Life::to_backward_input,
                          arithmetic_of(input.dtype),
                          {F * heads, 2}});
    plan.saved.push_back({SavedDecl::Kind::own, Life::carried, DType::f64, {2, D}});
  }
  const std::int64_t most = std::max(options_.heads, options_.kv_heads), n = F * most * D;
  Scratch matrix;
  (void)tensor_in(matrix, input.dtype, {F * most, D});
  plan.workspace = {2 * matrix.used(), 3 * matrix.used(), 0};
  add_copies(plan.workspace, {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0});
  const auto count = static_cast<double>(F * columns());
  plan.flops = {7 * count, 13 * count, 4.0 * static_cast<double>(D)};
  plan.cache_channels = 0;
  return plan;
}

void HeadNorm::pass_values(Context& context, const Tensor& from_FP, const Tensor& to_FP) const {
  const std::int64_t count = options_.kv_heads * options_.head_channels;
  const std::int64_t first = columns() - count;
  context.backend.run(context.stream, CastColumns{from_FP, to_FP, count, first, first});
}

void HeadNorm::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                       Saved saved) const {
  const Tensor &x_FP = x.only().x_FC, &y_FP = y.only().x_FC;
  for (const Part& part : {queries(), keys()}) {
    Scratch scratch(context.workspace);
    const Tensor from = part.rows_in(scratch, x_FP.dtype, x_FP.shape[0]);
    const Tensor to = part.rows_in(scratch, x_FP.dtype, x_FP.shape[0]);
    part.take(context, x_FP, from);
    context.backend.run(
        context.stream,
        LayerNormForward{
            .x_FC = from,
            .y_FC = to,
            .weight_C = params.weights[part.param],
            .bias_C = {},
            .statistics_F2 = context.mode == Mode::train ? saved[part.statistics] : Tensor{},
            .epsilon = options_.epsilon,
            .centred = false});
    part.put(context, to, y_FP);
  }
  pass_values(context, x_FP, y_FP);
}

// It runs without dx as well, for the sums of the parameters.
void HeadNorm::backward_input(Context& context, const Params& params, const Activation& dy,
                              Saved saved, Activation& dx) const {
  const Tensor &x_FP = saved[kInput], &dy_FP = dy.only().x_FC;
  for (const Part& part : {queries(), keys()}) {
    Scratch scratch(context.workspace);
    const Tensor from = part.rows_in(scratch, x_FP.dtype, x_FP.shape[0]);
    const Tensor gradient = part.rows_in(scratch, x_FP.dtype, x_FP.shape[0]);
    const Tensor to = dx.empty() ? Tensor{} : part.rows_in(scratch, x_FP.dtype, x_FP.shape[0]);
    part.take(context, x_FP, from);
    part.take(context, dy_FP, gradient);
    context.backend.run(context.stream,
                        LayerNormBackwardInput{.x_FC = from,
                                               .dy_FC = gradient,
                                               .dx_FC = to,
                                               .weight_C = params.weights[part.param],
                                               .statistics_F2 = saved[part.statistics],
                                               .reductions_2C = saved[part.sums],
                                               .centred = false});
    if (!dx.empty()) part.put(context, to, dx.only().x_FC);
  }
  if (!dx.empty()) pass_values(context, dy_FP, dx.only().x_FC);
}

void HeadNorm::backward_weight(Context& context, Saved saved, Grads grads) const {
  for (const Part& part : {queries(), keys()})
    context.backend.run(context.stream, LayerNormBackwardWeight{.reductions_2C = saved[part.sums],
                                                                .d_weight_C = grads[part.param],
                                                                .d_bias_C = {}});
}

}  // namespace penstock::layers
