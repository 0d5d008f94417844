#include "layers/nn/sinusoidal_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/nn/pieces.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/positions.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// Every utterance begins with the table's first row, so the longest utterance has all rows that are
// needed. With a period, the table repeats its first rows. The table is constant, also if it is
// stored, so backward is dx = scale · dy and needs nothing saved.

namespace penstock::layers {
namespace {

/// Takes the table of the longest utterance from scratch, in the dtype of the arithmetic.
Tensor table_in(Scratch& scratch, DType activations, std::span<const std::int64_t> lengths,
                std::int64_t channels) {
  const std::int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  return tensor_in(scratch, arithmetic_of(activations), {longest, channels});
}

}  // namespace

LayerPlan SinusoidalPositions::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (options_.order == SinusoidOrder::halves && (x.channels < 4 || x.channels % 2 != 0))
    throw ShapeError(
        fmt::format("'{}': positions in halves need an even number of channels, 4 or more, not {}",
                    name_, x.channels));
  if (options_.max_frames > 0 &&
      std::ranges::any_of(x.lengths, [&](auto n) { return n > options_.max_frames; }))
    throw ShapeError(fmt::format(
        "'{}': an utterance has {}, but there are positions for {}: set data.max_seconds, or cut "
        "longer recordings",
        name_, counted(std::ranges::max(x.lengths), "frame"), options_.max_frames));
  LayerPlan plan;
  plan.output = input;
  Scratch counted;
  const std::int64_t longest = table_in(counted, input.dtype, x.lengths, x.channels).size(),
                     all = element_count(x.shape());
  if (options_.stored)
    plan.params.push_back({.name = name_ + ".weight",
                           .shape = {options_.max_frames, x.channels},
                           .initialiser = {Initialiser::Kind::sinusoids},
                           .rate = 0,
                           .summed = false});
  plan.workspace.forward = options_.stored ? 0 : counted.used();
  add_copies(plan.workspace, {widened(sizes, {longest, longest, options_.stored ? longest : 0}),
                              widened(sizes, {all, all}), 0});
  const auto count = static_cast<double>(all);
  plan.flops = {2 * count, count, 0};
  return plan;
}

/// Makes the table of the longest utterance, piece by piece of a period.
Tensor SinusoidalPositions::make_table(Context& context, Scratch& scratch, DType activations,
                                       std::int64_t channels) const {
  Tensor table = table_in(scratch, activations, context.lengths, channels);
  const std::int64_t longest = table.shape[0];
  std::int64_t row = 0;
  for (const std::int64_t frames : pieces_of({&longest, 1}, options_.period)) {
    context.backend.run(context.stream, PositionTable{.table_XC = rows(table, row, frames),
                                                      .order = options_.order});
    row += frames;
  }
  return table;
}

void SinusoidalPositions::forward(Context& context, const Params& params, const Activation& x,
                                  Activation& y, Saved) const {
  const Tensor& from = x.only().x_FC;
  Scratch scratch(context.workspace);
  const Tensor table =
      options_.stored ? params.weights[0] : make_table(context, scratch, from.dtype, from.shape[1]);
  std::int64_t row = 0;
  for (const std::int64_t frames : context.lengths) {
    context.backend.run(context.stream,
                        AddScaled{rows(table, 0, frames), rows(from, row, frames),
                                  rows(y.only().x_FC, row, frames), options_.scale});
    row += frames;
  }
}

void SinusoidalPositions::backward_input(Context& context, const Params&, const Activation& dy,
                                         Saved, Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      AddScaled{{}, dy.only().x_FC, dx.only().x_FC, options_.scale});
}

}  // namespace penstock::layers
