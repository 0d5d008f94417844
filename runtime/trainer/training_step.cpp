#include "runtime/trainer/training_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/collectives.h"
#include "runtime/optim/gradient_norm.h"
#include "runtime/optim/learning_rate.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock {
namespace {

std::vector<std::byte*> lane_arenas(const ParameterStore& store) {
  std::vector<std::byte*> arenas;
  for (int lane = 0; lane < store.lanes(); ++lane)
    arenas.push_back(store.gradient_arena(lane).data());
  return arenas;
}

}  // namespace

TrainingStep::TrainingStep(Backend& backend, Stream& stream, const Grid& grid, Stage& stage,
                           const Options& options)
    : backend_(backend),
      stream_(stream),
      grid_(grid),
      stage_(stage),
      options_(options),
      optimizer_(make_optimizer(options.optimizer)),
      loss_scale_(options.precision),
      reduction_plan_(
          gradient_buckets(stage.parameters().layout(), options.lanes_of, options.bucket_bytes)),
      reduction_(make_gradient_reduction(backend, stream, grid.replicas(), reduction_plan_,
                                         lane_arenas(stage.parameters()), options.links,
                                         options.reduction)) {}

void TrainingStep::progress() {
  stage_.progress();
  reduction_->progress();
}

StepReport TrainingStep::run(StepWork work, const ReadFeatures& read_features,
                             TrainingClock& clock) {
  const double scale = work.loss_scale = loss_scale_.value();
  StepSums sums = forward_and_backward(work, read_features);
  const Agreement agreed = agree(sums);

  StepReport report;
  report.step = ++clock.step;
  report.loss = agreed.loss * work.scale;
  report.gradient_norm = agreed.norm / scale;
  report.loss_scale = scale;
  report.learning_rate =
      learning_rate(options_.schedule, options_.optimizer.learning_rate, clock.taken);
  report.skipped = !std::isfinite(agreed.norm);
  report.failed_utterances = static_cast<std::int64_t>(agreed.failed);
  loss_scale_.update(report.skipped, agreed.largest / scale);
  if (report.skipped) return report;

  ++clock.taken;
  update({report.learning_rate,
          clip_factor(report.gradient_norm, options_.optimizer.clip_norm) / scale, clock.taken,
          agreed.squared_sums});
  sum_disjoint(grid_.replicas(), sums.state);
  stage_.commit_state(sums.state, work.global_micro_batches);
  return report;
}

/// Behind this layers read the new weights, whoever owns them.
void TrainingStep::update(UpdateArguments with) {
  ParameterStore& store = stage_.parameters();
  if (store.shared())
    with.sum_over_owners = [this](std::span<double> numbers) {
      sum_disjoint(grid_.replicas(), numbers);
    };
  optimizer_->update(backend_, stream_, store, with);
  if (store.shared()) reduction_->gather(store.shared_arena());
}

/// Gradients are whole behind this: those of lane 0 are the sums over all lanes, of what this rank
/// owns.
StepSums TrainingStep::forward_and_backward(const StepWork& work,
                                            const ReadFeatures& read_features) {
  next_bucket_ = static_cast<int>(reduction_plan_.bucket_ends.size());
  ExecutorCallbacks callbacks;
  callbacks.read_features = read_features;
  callbacks.layer_whole = [this](int, std::size_t layer) { start_buckets(layer); };
  StepSums sums = stage_.train(work, callbacks);
  start_buckets(0);
  reduction_->finish();
  return sums;
}

/// Backward goes from the last layer to the first, so the arena fills from its end: a bucket is
/// whole once the layer with its first element is.
void TrainingStep::start_buckets(std::size_t layer) {
  const std::size_t whole_from = layer == 0 ? 0 : stage_.parameters().arena_offset(layer);
  const auto begin = [&](int bucket) {
    return static_cast<std::size_t>(bucket_begin(reduction_plan_, bucket)) *
           size_of(reduction_plan_.dtype);
  };
  while (next_bucket_ > 0 && begin(next_bucket_ - 1) >= whole_from)
    reduction_->start(--next_bucket_);
}

/// Losses, the squared sums of every block of the model and what else ranks tell each other,
/// exchanged in one message: each number comes from one rank, and every rank adds them in the same
/// order.
TrainingStep::Agreement TrainingStep::agree(const StepSums& sums) {
  const std::size_t micro_batches = sums.losses.size();
  const std::size_t replicas = grid_.replicas().size();
  const std::size_t ranks = loss_scale_.wants_largest() ? grid_.pipeline().size() * replicas : 0;
  std::vector<double> numbers(micro_batches + options_.model_blocks + ranks + replicas);
  std::copy(sums.losses.begin(), sums.losses.end(), numbers.begin());
  const auto blocks = std::span(numbers).subspan(micro_batches, options_.model_blocks);
  const auto largest = std::span(numbers).last(ranks + replicas).first(ranks);
  const auto failed = std::span(numbers).last(replicas);
  const auto [stage, replica] = grid_.here();
  if (replica == 0 || stage_.parameters().shared()) {
    write_squared_sums(backend_, stream_, stage_.parameters(), blocks);
    if (ranks > 0)
      largest[stage * replicas + replica] =
          largest_gradient(backend_, stream_, stage_.parameters());
    backend_.finish(stream_);
  }
  if (options_.failed) failed[replica] = static_cast<double>(options_.failed());
  sum_disjoint(grid_.world(), numbers);
  Agreement agreed;
  agreed.loss = std::accumulate(numbers.begin(), numbers.begin() + micro_batches, 0.0);
  agreed.norm = norm_of(blocks);
  agreed.squared_sums.assign(blocks.begin(), blocks.end());
  agreed.failed = std::accumulate(failed.begin(), failed.end(), 0.0);
  if (ranks > 0) agreed.largest = *std::max_element(largest.begin(), largest.end());
  return agreed;
}

}  // namespace penstock
