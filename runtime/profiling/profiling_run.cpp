#include "runtime/profiling/profiling_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "comm/clock_offset.h"
#include "comm/collectives.h"
#include "partition/plan/plan_schedule.h"

namespace penstock {
namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LayerTimes difference(const LayerTimes& now, const LayerTimes& before) {
  LayerTimes spent = now;
  for (auto method :
       {&LayerTimes::forward, &LayerTimes::backward_input, &LayerTimes::backward_weight})
    for (std::size_t i = 0; i < (spent.*method).size(); ++i)
      (spent.*method)[i] -= (before.*method)[i];
  return spent;
}

double total(const LayerTimes& times) {
  double sum = 0;
  for (auto method :
       {&LayerTimes::forward, &LayerTimes::backward_input, &LayerTimes::backward_weight})
    sum = std::accumulate((times.*method).begin(), (times.*method).end(), sum);
  return sum;
}

TrainingStep::Options options_of(const ProfilingData& data, const Config& config, const Plan& plan,
                                 const Session& session) {
  TrainingStep::Options how;
  how.optimizer = config.optimizer;
  how.schedule = config.lr_schedule;
  how.precision = config.precision;
  how.bucket_bytes = config.pipeline.bucket_bytes;
  how.model_blocks = model_blocks(data.sequence);
  how.lanes_of = plan.lanes_of_replicas();
  how.links = session.device().links;
  how.post_validation = config.pipeline.post_validation;
  if (how.post_validation) {  // what steps take once they are trusted, as those of a trained model
    how.trusted_after = 0;
    how.optimizer.clip_norm = 0;
  }
  if (config.pipeline.reduction == "nccl" && how.links == DeviceLinks::nccl)
    how.reduction = ReductionOrder::library;
  return how;
}

}  // namespace

ProfilingRun::ProfilingRun(const ProfilingData& data, const Config& config, const Plan& plan,
                           Communicator& world)
    : data_(data),
      plan_(plan),
      world_(world),
      session_(device_of(config), world, config, data.sequence, plan_,
               make_optimizer(config.optimizer)->slots().counts()) {
  const std::vector<int> lanes_of = plan_.lanes_of_replicas();
  const int replica = session_.grid().here().replica;
  lanes_.first = std::accumulate(lanes_of.begin(), lanes_of.begin() + replica, 0);
  lanes_.count = lanes_of[replica];
  if (session_.stage().first())
    feed_ = std::make_unique<FeatureFeed>(data.corpus, config.features, config.data);
  training_step_ =
      std::make_unique<TrainingStep>(session_.backend(), session_.stream(), session_.grid(),
                                     session_.stage(), options_of(data, config, plan_, session_));
  reserve_buffers(config);
  session_.on_progress([this] { training_step_->progress(); });
  session_.stage().measure(&times_);
  training_step_->watch([this](const Action& action, Moment moment) { note(action, moment); });
}

RankDevice ProfilingRun::device_of(const Config& config) {
  RankDevice device = choose_device(config.trainer, world_);
  if (device.backend->kind() != DeviceKind::cpu) return device;
  auto counted = std::make_unique<CountedBackend>(config.trainer.threads);
  counted_ = counted.get();
  device.backend = std::move(counted);
  return device;
}

std::size_t ProfilingRun::allocated() const {
  return counted_ == nullptr ? 0 : counted_->allocated() + training_step_->reduction_bytes();
}

/// As in training, so that no step allocates.
void ProfilingRun::reserve_buffers(const Config& config) {
  const ChunkBytes bytes = bytes_of_run(data_.sequence, config, data_.shape, schedule_of(plan_));
  std::vector<ChunkBuffers> own;
  for (int i = 0; i < static_cast<int>(plan_.chunks.size()); ++i) {
    const ChunkPlan& chunk = plan_.chunks[i];
    if (chunk.stage == session_.grid().here().stage)
      own.push_back(bytes.buffers(chunk.first, chunk.last(), i));
  }
  session_.stage().reserve(own);
}

double ProfilingRun::now() const { return clock_seconds() - zero_; }

void ProfilingRun::announce(const StepBatches& step) {
  if (!feed_) return;
  const StepWork work = training_work(step, data_.corpus, 0, lanes_, false);
  feed_->announce(step.epoch, batches_of(work, step.micro_batches));
}

void ProfilingRun::note(const Action& action, Moment moment) {
  if (moment == Moment::begins) {
    if (!step_.actions.empty() && step_.actions.front().action == action)
      step_.actions.clear();  // the step begins again, behind an update that is rolled back
    before_ = times_;
    step_.actions.push_back({.action = action, .start = now()});
    return;
  }
  WatchedAction& done = step_.actions.back();
  done.end = now();
  if (!computes(action.kind)) return;
  done.layers = difference(times_, before_);
  done.computing = total(done.layers);
}

ProfiledStep ProfilingRun::run(const StepBatches& step) {
  StepWork work = training_work(step, data_.corpus, data_.config.trainer.seed, lanes_,
                                session_.stage().needs_targets());
  step_ = {};
  step_.start = now();
  training_step_->run(std::move(work), feed_ ? feed_->reader() : ReadFeatures{}, clock_);
  step_.end = now();
  return std::move(step_);
}

/// A moment that all ranks know, on this rank's clock: now on rank 0's.
double ProfilingRun::common_zero() {
  const double ahead = clock_offset(world_);
  barrier(world_);
  std::array<double, 1> zero{world_.rank() == 0 ? clock_seconds() : 0.0};
  sum_disjoint(world_, zero);
  return zero[0] + ahead;
}

std::vector<ProfiledStep> ProfilingRun::run(const std::vector<StepBatches>& steps,
                                            const std::vector<StepBatches>& ahead) {
  std::size_t announced = 0;
  const auto announce_until = [&](std::size_t end) {
    for (; announced < std::min(end, steps.size() + ahead.size()); ++announced)
      announce(announced < steps.size() ? steps[announced] : ahead[announced - steps.size()]);
  };
  announce_until(1 + kStepsAhead);
  zero_ = common_zero();
  std::vector<ProfiledStep> done;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    announce_until(i + 1 + kStepsAhead);
    done.push_back(run(steps[i]));
  }
  training_step_->flush(clock_);
  return done;
}

}  // namespace penstock
