#include "runtime/trainer/training_step.h"

#include <algorithm>
#include <numeric>

#include "comm/collectives.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/optim/learning_rate.h"

namespace penstock::runtime {

// The order of a step: forward and backward with reduction (forward_and_backward), norm and update
// (sync_gradient_norm), report and statistics (close). sync_gradient_norm has two forms. If norms
// stay on the device, the update reads the norm from the device's memory and is enqueued without a
// wait; the losses follow in one message. Otherwise losses and norm travel in one message before
// the update. With post-validation, update_optimistically replaces sync_gradient_norm after enough
// plain steps, and the step stays open. await_norm then runs inside the next step, before its first
// backward (docs/design/optimizer.md).

TrainingStep::TrainingStep(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid,
                           Stage& stage, const Options& options)
    : backend_(backend),
      stream_(stream),
      grid_(grid),
      stage_(stage),
      options_(options),
      optimizer_(make_optimizer(options.optimizer)),
      loss_scale_(options.precision),
      reduction_(backend, stream, grid, stage,
                 {options.lanes_of, options.bucket_bytes, options.links, options.reduction}),
      norm_sync_(backend, stream, grid,
                 {options.model_blocks, options.optimizer.clip_norm, loss_scale_.wants_largest(),
                  options.links}),
      steps_to_trust_(options.trusted_after) {
  if (options.post_validation && grid.world().size() > 1)
    rollback_ = std::make_unique<RollbackBuffer>(backend, stage.parameters());
}

void TrainingStep::progress() {
  stage_.progress();
  reduction_.progress();
  norm_sync_.progress();
}

// The norm of an open step arrives during forward_and_backward(). If it has corrected that step
// (`stands` is false), forward passes of this one have read wrong weights. complete() then waits
// for its last messages, and the step is repeated with the same features and the right loss scale.
//
// With post-validation nothing is prefetched, since `features` would not keep it for a repetition.
std::vector<StepReport> TrainingStep::run(StepWork work, const ReadFeatures& read_features,
                                          TrainingClock& clock, const StepWork* next) {
  if (unread_) std::rethrow_exception(std::exchange(unread_, nullptr));
  std::vector<StepReport> agreed;
  KeptFeatures features(read_features, open_.has_value());
  work.loss_scale = optimistic_scale();
  StepSums sums = forward_and_backward(work, features);
  if (open_) {
    const bool stands = open_->plain();
    agreed.push_back(*flush(clock));
    if (!stands) {
      stage_.complete(sums);
      features.again();
      work.loss_scale = loss_scale_.value();
      sums = forward_and_backward(work, features);
    }
  }
  if (watch_) watch_({partition::ActionKind::step}, Moment::begins);
  Ended step = end(std::move(sums), work, clock);
  if (rollback_ && steps_to_trust_ == 0) {
    update_optimistically(step);
    open_ = std::move(step);
  } else {
    sync_gradient_norm(step, [&] {
      if (next != nullptr && !rollback_) prefetch(*next, read_features);
    });
    agreed.push_back(close(std::move(step), clock));
  }
  if (watch_) watch_({partition::ActionKind::step}, Moment::ends);
  return agreed;
}

/// Reads the next step's features. An exception belongs to the next step, which rethrows it, so
/// that this step's report is not lost.
void TrainingStep::prefetch(const StepWork& next, const ReadFeatures& read_features) try {
  stage_.prefetch(next, read_features);
} catch (...) {
  unread_ = std::current_exception();
}

// All ranks know by the common norm whether the update was corrected. So either all replicas of a
// stage gather the corrected weights, or none does.
std::optional<StepReport> TrainingStep::flush(TrainingClock& clock) {
  if (!open_) return {};
  await_norm();
  if (!open_->plain()) reduction_.gather();
  const StepReport report = close(std::move(*open_), clock);
  open_.reset();
  return report;
}

/// Returns the loss scale of the next step if the open step is not skipped.
double TrainingStep::optimistic_scale() const {
  LossScale scale = loss_scale_;
  if (open_) scale.update(false, 0);
  return scale.value();
}

/// Runs the pipeline and completes the gradients: lane 0 holds the sums over all lanes of the
/// elements that this rank owns. The gradients of an open step stay intact until the first backward
/// of this one.
StepSums TrainingStep::forward_and_backward(const StepWork& work, KeptFeatures& features) {
  reduction_.begin();
  ExecutorCallbacks callbacks;
  callbacks.read_features = features.reader();
  callbacks.action = watch_;
  callbacks.wait = watch_wait_;
  callbacks.gradients_begin = [&] {
    if (!open_) return;
    await_norm();
    if (open_->plain()) features.let_go();
  };
  callbacks.layer_complete = [this](std::size_t layer) { reduction_.layer_complete(layer); };
  StepSums sums = stage_.train(work, callbacks);
  reduction_.all_complete();
  if (!norm_sync_.on_device()) stage_.complete(sums);  // progress() must move its last message
  reduction_.finish();
  return sums;
}

// Advances the clock. optimizer_steps counts this step for now; close() takes that back if it is
// skipped. The learning rate follows from the steps that changed the model before this one. Within
// a lane, micro-batches are sorted by canonical place, so that statistics are pooled in the same
// order in every layout.
TrainingStep::Ended TrainingStep::end(StepSums sums, const StepWork& work, TrainingClock& clock) {
  Ended step;
  step.sums = std::move(sums);
  step.micro_batches.resize(static_cast<std::size_t>(options_.lanes_of[grid_.here().replica]));
  for (std::size_t m = 0; m < work.micro_batches.size(); ++m)
    step.micro_batches[static_cast<std::size_t>(work.micro_batches[m].lane)].push_back(
        static_cast<int>(m));
  for (std::vector<int>& of_lane : step.micro_batches)
    std::ranges::sort(of_lane, {}, [&](int m) { return work.micro_batches[m].place; });
  step.scale = work.scale;
  step.loss_scale = work.loss_scale;
  step.learning_rate = options_.scaling.learning_rate(
      options_.schedule, options_.optimizer.learning_rate, clock.step, clock.optimizer_steps);
  step.step = ++clock.step;
  step.optimizer_steps = ++clock.optimizer_steps;
  if (options_.failed) step.failed = options_.failed();
  return step;
}

// If norms pass through the host, the numbers of tell() travel in the same message as the norm, so
// they come first. If norms stay on the device, tell() comes last, since it waits for the device:
// norm, update and gather are enqueued by then, and `meanwhile` runs while the device computes.
void TrainingStep::sync_gradient_norm(Ended& step, const std::function<void()>& meanwhile) {
  if (!norm_sync_.on_device()) step.told = tell(step);
  update(norm_sync_.sync(stage_.parameters(), step.loss_scale, step.told), step);
  reduction_.gather();
  if (norm_sync_.on_device()) {
    meanwhile();
    step.told = tell(step);  // the step's only wait for the device
    step.result = norm_sync_.landed();
    comm::sum_disjoint(grid_.world(), step.told);
  } else {
    step.result = norm_sync_.result();
  }
}

/// Updates from this rank's norm alone and starts the exchange of norms.
void TrainingStep::update_optimistically(Ended& step) {
  const layers::GradientNormResult* result =
      norm_sync_.local_result(stage_.parameters(), step.loss_scale);
  const auto ask = [&] {
    step.told = tell(step);
    norm_sync_.start(step.told);
  };
  if (!norm_sync_.on_device()) ask();
  ++optimistic_;
  rollback_->take(stream_);
  update(result, step);
  reduction_.gather();
  if (norm_sync_.on_device()) ask();
}

/// Waits for the norm of the open step over all ranks and, if it requires so, corrects the update.
/// The caller must call gather() afterwards, since all replicas must call it at the same point.
void TrainingStep::await_norm() {
  if (open_->result) return;
  open_->result = norm_sync_.await(open_->told);
  if (open_->plain()) return;
  ++rolled_back_;
  rollback_->restore(stream_);
  update(norm_sync_.awaited(), *open_);
}

// Makes the report of a step from the numbers that all ranks have summed:
//   told = [ loss of each micro-batch | failed utterances of each replica | notices ]
// The loss is Σ losses / utterances of the global batch. Losses are added in canonical order, so
// every layout gets the same bits. A skipped step counts in clock.step, but not for the optimizer
// and the learning rate, and it leaves the running statistics alone. After a clipped or skipped
// step, updates are optimistic again once `trusted_after` steps in a row were neither.
StepReport TrainingStep::close(Ended step, TrainingClock& clock) {
  const auto losses = std::span(step.told).first(step.sums.losses.size());
  const auto notices = std::span(step.told).last(Notices::kCount);
  const auto failed = std::span(step.told).subspan(
      losses.size(), step.told.size() - losses.size() - notices.size());
  StepReport report;
  report.step = step.step;
  report.loss = std::accumulate(losses.begin(), losses.end(), 0.0) * step.scale;
  report.gradient_norm = step.result->norm;
  report.loss_scale = step.loss_scale;
  report.learning_rate = step.learning_rate;
  report.skipped = step.result->skip != 0;
  report.failed_utterances =
      static_cast<std::int64_t>(std::accumulate(failed.begin(), failed.end(), 0.0));
  report.notices = Notices::of(notices);
  loss_scale_.update(report.skipped, step.result->largest);
  steps_to_trust_ = step.plain() ? std::max(steps_to_trust_ - 1, 0) : options_.trusted_after;
  if (report.skipped) {
    --clock.optimizer_steps;
    return report;
  }
  commit_state(step);
  return report;
}

/// Commits running statistics. Each replica pools the rows of each of its lanes, so that the
/// message does not grow with the number of micro-batches. The order is that of the lanes, which is
/// the same in every layout.
void TrainingStep::commit_state(const Ended& step) {
  std::vector<double> rows;
  for (const std::vector<int>& of_lane : step.micro_batches) {
    const std::vector<double> row = stage_.pool_state(step.sums, of_lane);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::vector<int>& lanes_of = options_.lanes_of;
  const auto lanes = static_cast<std::size_t>(std::accumulate(lanes_of.begin(), lanes_of.end(), 0));
  const auto first = static_cast<std::size_t>(lane_share(lanes_of, grid_.here().replica).first);
  const std::size_t width = rows.size() / step.micro_batches.size();
  rows.insert(rows.begin(), first * width, 0.0);
  rows.resize(lanes * width);
  comm::sum_disjoint(grid_.replicas(), rows);
  stage_.commit_state(rows);
}

/// Returns this rank's numbers for the exchange: losses per micro-batch, failed utterances per
/// replica, then notices. Waits for the losses. Each number comes from one rank; only the notices
/// are sums of counts.
std::vector<double> TrainingStep::tell(Ended& step) {
  if (norm_sync_.on_device()) stage_.complete(step.sums);
  std::vector<double> told = step.sums.losses;
  told.resize(told.size() + static_cast<std::size_t>(grid_.replicas().size()) + Notices::kCount);
  if (options_.failed)
    told[step.sums.losses.size() + grid_.here().replica] = static_cast<double>(step.failed);
  if (options_.notices) options_.notices().put(std::span(told).last(Notices::kCount));
  return told;
}

/// Updates what this rank owns. A skipped step changes nothing. After this and reduction_.gather()
/// layers read the new weights of all owners.
void TrainingStep::update(const layers::GradientNormResult* result, const Ended& step) {
  ParameterStore& store = stage_.parameters();
  UpdateArguments with{.learning_rate = step.learning_rate,
                       .factor = {1, result},
                       .step = step.optimizer_steps,
                       .seed = options_.seed};
  std::vector<double> squared_sums;
  if (optimizer_->takes_norms()) {
    const layers::GradientNormResult agreed = norm_sync_.result();
    if (agreed.skip != 0) return;
    squared_sums = norm_sync_.squared_sums();
    with.factor = {agreed.clip_coefficient};
    with.squared_sums = squared_sums;
    with.room = norm_sync_.room();
  }
  if (store.shared())
    with.sum_over_owners = [this](std::span<double> numbers) {
      comm::sum_disjoint(grid_.replicas(), numbers);
    };
  optimizer_->update(backend_, stream_, store, with);
  if (options_.ema > 0 && !store.owned().empty())
    backend_.run(stream_, layers::MoveAverages{.blocks = store.table().all(),
                                               .weight = store.weight_arena(),
                                               .average = store.average_arena(),
                                               .decay = options_.ema,
                                               .factor = with.factor});
}

void TrainingStep::exchange_averages() {
  stage_.parameters().exchange_averages(stream_);
  reduction_.gather();
}

}  // namespace penstock::runtime
