#include "layers/nn/batch_norm.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/batch_norm.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/batch_norm.h. Its state must come out the same for
// any division of a step into stages, replicas and lanes, so no micro-batch changes it. Forward
// leaves a row of sums for each micro-batch instead: the count, and the mean and Σ (x - mean)² of
// each channel. At the step, commit_state() gets all rows in canonical order, merges them, and
// moves the running statistics once. pool() merges rows into one row of the same form, which can be
// merged again.
//
// A merge keeps Σ (x - mean)² around the common mean: with counts n and m and means a and b, it is
// the sum of both plus (b - a)² · n · m / (n + m). No square of a mean is subtracted, so no digits
// cancel.

namespace penstock::layers {
namespace {

// Count, and mean and Σ (x - mean)² of each channel, over the rows so far. Rows are merged in FP64,
// in their given order.
struct Pooled {
  Pooled(std::size_t channels, std::span<const double> sums)
      : statistics(2 * channels),
        mean(std::span(statistics).first(channels)),
        squares(std::span(statistics).last(channels)) {
    const std::size_t row = 1 + 2 * channels;
    for (std::size_t begin = 0; begin + row <= sums.size(); begin += row)
      add(sums.subspan(begin, row));
  }

  // Merges the statistics of two sets (Chan, Golub & LeVeque 1979).
  void add(std::span<const double> sums) {
    const double n = sums[0];
    if (n == 0) return;
    const double share = n / (count + n);
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double ahead = sums[1 + c] - mean[c];
      mean[c] += ahead * share;
      squares[c] += sums[1 + mean.size() + c] + ahead * ahead * count * share;
    }
    count += n;
  }

  double count = 0;
  std::vector<double> statistics;
  std::span<double> mean, squares;  // views of `statistics`
};

}  // namespace

BatchNorm::BatchNorm(BatchNormOptions options) : options_(std::move(options)) {}

// Saved are x, then mean and 1 / deviation of each channel, then Σ dz and Σ dz · x̂ of each
// channel. The sums are FP64 in any dtype, since they are over all numbers of a channel.
LayerPlan BatchNorm::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const std::int64_t C = options_.channels, columns = input.only().channels;
  if (columns != C * options_.groups)
    throw ShapeError(fmt::format("{} normalises {} of {}, but its input has {}", name(),
                                 counted(options_.groups, "group"), counted(C, "channel"),
                                 counted(columns, "column")));
  LayerPlan plan;
  plan.output = input;
  plan.params = {{name() + ".weight", {C}, {Initialiser::Kind::constant, 1}},
                 {name() + ".bias", {C}, {Initialiser::Kind::constant, 0}}};
  for (ParamDecl& p : plan.params) p.full_precision = true;
  plan.state = {{name() + ".running_mean", {C}, 0}, {name() + ".running_var", {C}, 1}};
  plan.sums = static_cast<std::size_t>(1 + 2 * C);
  plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                {SavedDecl::Kind::own, Life::to_backward_input, DType::f64, {2, C}},
                {SavedDecl::Kind::own, Life::carried, DType::f64, {2, C}}};
  const std::int64_t n = input.only().rows() * columns;
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {5 * count, 9 * count, 2.0 * static_cast<double>(C)};
  if (options_.silu) {
    plan.flops.forward += 10 * count;
    plan.flops.backward_input += 25 * count;  // recomputes z, and its slope
  }
  return plan;
}

// Evaluation reads the running statistics, training never does.
void BatchNorm::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                        Saved saved) const {
  const auto w = params.weights;
  if (context.mode == Mode::evaluate)
    context.backend.run(context.stream, BatchNormInference{x.only().x_FC, y.only().x_FC, w[0], w[1],
                                                           params.state[0], params.state[1],
                                                           options_.epsilon, options_.silu});
  else
    context.backend.run(context.stream,
                        BatchNormForward{x.only().x_FC, y.only().x_FC, w[0], w[1], saved[1],
                                         context.sums, options_.epsilon, options_.silu});
}

// It runs without dx as well, because it makes the reductions from which the parameters' gradients
// follow. The bias is needed for SiLU alone, whose slope is that at z.
void BatchNorm::backward_input(Context& context, const Params& params, const Activation& dy,
                               Saved saved, Activation& dx) const {
  context.backend.run(context.stream, BatchNormBackwardInput{saved[0], dy.only().x_FC,
                                                             dx.empty() ? Tensor{} : dx.only().x_FC,
                                                             params.weights[0], saved[1], saved[2],
                                                             params.weights[1], options_.silu});
}

void BatchNorm::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream, BatchNormBackwardWeight{saved[2], grads[0], grads[1]});
}

std::vector<double> BatchNorm::pool(std::span<const double> sums) const {
  const Pooled pooled(static_cast<std::size_t>(options_.channels), sums);
  std::vector<double> row = {pooled.count};
  row.insert(row.end(), pooled.statistics.begin(), pooled.statistics.end());
  return row;
}

void BatchNorm::commit_state(Context& context, std::span<const double> sums,
                             std::span<const Tensor> state) const {
  const Pooled pooled(static_cast<std::size_t>(options_.channels), sums);
  if (pooled.count < 2) return;  // a variance needs two numbers
  context.backend.run(context.stream, BatchNormCommit{pooled.count, pooled.statistics, state[0],
                                                      state[1], options_.momentum});
}

}  // namespace penstock::layers
