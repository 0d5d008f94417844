#include "runtime/trainer/training_step.h"

#include <numeric>

#include "comm/collectives.h"
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
                                         options.reduction)),
      agreement_(backend, stream, grid,
                 {options.model_blocks, options.optimizer.clip_norm, loss_scale_.wants_largest(),
                  options.links}) {}

void TrainingStep::progress() {
  stage_.progress();
  reduction_->progress();
  agreement_.progress();
}

StepReport TrainingStep::run(StepWork work, const ReadFeatures& read_features,
                             TrainingClock& clock) {
  work.loss_scale = loss_scale_.value();
  StepSums sums = forward_and_backward(work, read_features);
  if (watch_) watch_({ActionKind::step}, Moment::begins);
  StepReport report = agree_and_update(std::move(sums), work, clock);
  if (watch_) watch_({ActionKind::step}, Moment::ends);
  return report;
}

StepReport TrainingStep::agree_and_update(StepSums sums, const StepWork& work,
                                          TrainingClock& clock) {
  const double scale = work.loss_scale;
  std::vector<double> told;
  if (!agreement_.on_device()) told = tell(sums);
  const Verdict* verdict = agreement_.judge(stage_.parameters(), scale, told);
  const double rate =
      learning_rate(options_.schedule, options_.optimizer.learning_rate, clock.taken);
  update(verdict, rate, clock.taken + 1);
  if (agreement_.on_device()) {
    told = tell(sums);
    sum_disjoint(grid_.world(), told);
  }
  const Verdict agreed = agreement_.verdict();

  const auto losses = std::span(told).first(sums.losses.size());
  const auto failed = std::span(told).subspan(losses.size());
  StepReport report;
  report.step = ++clock.step;
  report.loss = std::accumulate(losses.begin(), losses.end(), 0.0) * work.scale;
  report.gradient_norm = agreed.norm;
  report.loss_scale = scale;
  report.learning_rate = rate;
  report.skipped = agreed.skip != 0;
  report.failed_utterances =
      static_cast<std::int64_t>(std::accumulate(failed.begin(), failed.end(), 0.0));
  loss_scale_.update(report.skipped, agreed.largest);
  if (report.skipped) return report;

  ++clock.taken;
  sum_disjoint(grid_.replicas(), sums.state);
  stage_.commit_state(sums.state, work.global_micro_batches);
  return report;
}

/// Waits for the losses of the step's micro-batches; behind them, the utterances that have failed
/// on each replica. Every number is told by one rank.
std::vector<double> TrainingStep::tell(StepSums& sums) {
  if (agreement_.on_device()) stage_.complete(sums);
  std::vector<double> told = sums.losses;
  told.resize(told.size() + grid_.replicas().size());
  if (options_.failed)
    told[sums.losses.size() + grid_.here().replica] = static_cast<double>(options_.failed());
  return told;
}

/// A step that is skipped changes nothing. Behind this layers read the new weights, whoever owns
/// them.
void TrainingStep::update(const Verdict* verdict, double learning_rate, std::int64_t step) {
  ParameterStore& store = stage_.parameters();
  UpdateArguments with{.learning_rate = learning_rate, .factor = {1, verdict}, .step = step};
  std::vector<double> squared_sums;
  if (optimizer_->takes_norms()) {
    const Verdict agreed = agreement_.verdict();
    if (agreed.skip != 0) return;
    squared_sums = agreement_.squared_sums();
    with.factor = {agreed.factor};
    with.squared_sums = squared_sums;
    with.room = agreement_.room();
  }
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
  whole_.assign(stage_.layers(), false);
  whole_behind_ = whole_.size();
  ExecutorCallbacks callbacks;
  callbacks.read_features = read_features;
  callbacks.action = watch_;
  callbacks.layer_whole = [this](std::size_t layer) { layer_whole(layer); };
  StepSums sums = stage_.train(work, callbacks);
  start_buckets(0);
  if (!agreement_.on_device()) stage_.complete(sums);  // its last message moves only when asked for
  reduction_->finish();
  return sums;
}

void TrainingStep::layer_whole(std::size_t layer) {
  whole_[layer] = true;
  if (layer + 1 != whole_behind_) return;
  while (whole_behind_ > 0 && whole_[whole_behind_ - 1]) --whole_behind_;
  start_buckets(stage_.parameters().arena_offset(whole_behind_));
}

/// A bucket is whole once all layers with elements in it are. Chunks get there one after the other,
/// in an order that may differ between replicas with unlike numbers of micro-batches; buckets are
/// started from the last to the first on all of them, which libraries want.
void TrainingStep::start_buckets(std::size_t whole_from) {
  const auto begin = [&](int bucket) {
    return static_cast<std::size_t>(bucket_begin(reduction_plan_, bucket)) *
           size_of(reduction_plan_.dtype);
  };
  while (next_bucket_ > 0 && begin(next_bucket_ - 1) >= whole_from)
    reduction_->start(--next_bucket_);
}

}  // namespace penstock
