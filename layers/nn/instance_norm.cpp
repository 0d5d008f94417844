#include "layers/nn/instance_norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/batch_norm.h"
#include "layers/scratch.h"
#include "layers/widened.h"

// Each utterance's frames are consecutive rows, so the norm is BatchNorm's operation on the rows of
// one utterance after the other. Statistics and reductions are lists with an item for each
// utterance. backward_weight adds the items in that order, and the gradients of weight and bias are
// sums over utterances. An utterance without frames is skipped: it has no statistics, and its items
// stay unread.

namespace penstock::layers {
namespace {

enum InstanceNormSaved { kInput, kStatistics, kReductions };

/// Returns rows of a matrix; without data if the matrix has none.
Tensor rows_from(const Tensor& x, std::int64_t first, std::int64_t count) {
  if (x.data == nullptr) return {};
  const std::size_t skipped =
      static_cast<std::size_t>(first * x.size() / x.shape[0]) * size_of(x.dtype);
  Tensor rows{static_cast<std::byte*>(x.data) + skipped, x.dtype, x.shape};
  rows.shape[0] = count;
  return rows;
}

/// Returns one of a list of matrices.
Tensor item(const Tensor& list, std::int64_t i) {
  Tensor one = rows_from(list, i, 1);
  one.shape.erase(one.shape.begin());
  return one;
}

/// Calls work(utterance, first row, rows) for each utterance that has frames.
template <class Work>
void for_each_utterance(const Context& context, const Work& work) {
  std::int64_t first = 0;
  for (std::size_t u = 0; u < context.lengths.size(); ++u) {
    const std::int64_t rows = context.lengths[u];
    if (rows > 0) work(static_cast<std::int64_t>(u), first, rows);
    first += rows;
  }
}

}  // namespace

LayerPlan InstanceNorm::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t C = options_.channels;
  if (x.channels != C)
    throw ShapeError(fmt::format("{} normalises {}, but its input has {}", name(),
                                 counted(C, "channel"), x.channels));
  const auto utterances = static_cast<std::int64_t>(x.lengths.size());
  LayerPlan plan;
  plan.output = input;
  plan.params = {{name() + ".weight", {C}, {Initialiser::Kind::constant, 1}, true},
                 {name() + ".bias", {C}, {Initialiser::Kind::constant, 0}, true}};
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                {SavedDecl::Kind::own, Life::to_backward_input, DType::f64, {utterances, 2, C}},
                {SavedDecl::Kind::own, Life::carried, DType::f64, {utterances, 2, C}}};
  Scratch statistics;  // for evaluation, reused by each utterance
  statistics.take<double>(2 * C);
  const std::int64_t longest = x.lengths.empty() ? 0 : *std::ranges::max_element(x.lengths) * C;
  plan.workspace.forward = statistics.used();
  add_copies(plan.workspace,
             {widened(sizes, {longest, longest}), widened(sizes, {longest, longest, longest}), 0});
  const auto count = static_cast<double>(x.rows() * C);
  plan.flops = {5 * count, 9 * count, 2.0 * static_cast<double>(utterances * C)};
  return plan;
}

// Statistics that nobody reads again, in evaluation, share the memory of one utterance. No sums are
// asked for, since there is no running state. The CPU computes within run(), so messages get their
// turn after each utterance.
void InstanceNorm::forward(Context& context, const Params& params, const Activation& x,
                           Activation& y, Saved saved) const {
  Scratch scratch(context.workspace);
  const Tensor passing{scratch.take<double>(2 * options_.channels), DType::f64,
                       Shape{2, options_.channels}};
  for_each_utterance(context, [&](std::int64_t u, std::int64_t first, std::int64_t rows) {
    context.backend.run(
        context.stream,
        BatchNormForward{
            .x = rows_from(x.only().x_FC, first, rows),
            .y = rows_from(y.only().x_FC, first, rows),
            .weight_C = params.weights[0],
            .bias_C = params.weights[1],
            .statistics = context.mode == Mode::train ? item(saved[kStatistics], u) : passing,
            .sums = {},
            .epsilon = options_.epsilon});
    context.stream.progress();
  });
}

void InstanceNorm::backward_input(Context& context, const Params& params, const Activation& dy,
                                  Saved saved, Activation& dx) const {
  for_each_utterance(context, [&](std::int64_t u, std::int64_t first, std::int64_t rows) {
    context.backend.run(
        context.stream,
        BatchNormBackwardInput{.x = rows_from(saved[kInput], first, rows),
                               .dy = rows_from(dy.only().x_FC, first, rows),
                               .dx = dx.empty() ? Tensor{} : rows_from(dx.only().x_FC, first, rows),
                               .weight_C = params.weights[0],
                               .statistics = item(saved[kStatistics], u),
                               .reductions = item(saved[kReductions], u)});
    context.stream.progress();
  });
}

void InstanceNorm::backward_weight(Context& context, Saved saved, Grads grads) const {
  for_each_utterance(context, [&](std::int64_t u, std::int64_t, std::int64_t) {
    context.backend.run(context.stream,
                        BatchNormBackwardWeight{item(saved[kReductions], u), grads[0], grads[1]});
  });
}

}  // namespace penstock::layers
