#include "runtime/profiling/profiling_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "comm/collectives.h"
#include "runtime/profiling/links/clock_offset.h"
#include "runtime/trainer/make_training_step.h"

namespace penstock::runtime {
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

/// Returns the recipe with updates that are trusted from the first step, as in a training that has
/// run for some time.
configs::Config trusted(configs::Config config) {
  if (config.pipeline.post_validation) config.optimizer.clip_norm = 0;
  return config;
}

}  // namespace

ProfilingRun::ProfilingRun(const ProfilingData& data, const configs::Config& config,
                           const partition::Plan& plan, comm::Communicator& world)
    : world_(world),
      session_(world, device_of(config), training_session_options(config, data.sequence, plan)),
      loader_(data.corpus, config, plan, session_),
      training_step_(make_training_step(session_, {.config = trusted(config),
                                                   .sequence = data.sequence,
                                                   .plan = plan,
                                                   .shape = data.shape,
                                                   .trusted_after = 0})) {
  session_.stage().measure(&times_);
  training_step_->watch(
      [this](const partition::Action& action, Moment moment) { note(action, moment); });
}

RankDevice ProfilingRun::device_of(const configs::Config& config) {
  RankDevice device = choose_device(config.trainer, world_, config.precision);
  if (device.backend->kind() != layers::DeviceKind::cpu) return device;
  auto counted = std::make_unique<CountedBackend>(config.trainer.threads);
  counted_ = counted.get();
  device.backend = std::move(counted);
  return device;
}

std::size_t ProfilingRun::allocated() const {
  return counted_ == nullptr ? 0 : counted_->allocated() + training_step_->reduction_bytes();
}

double ProfilingRun::now() const { return clock_seconds() - zero_; }

void ProfilingRun::note(const partition::Action& action, Moment moment) {
  if (moment == Moment::begins) {
    if (!step_.actions.empty() && step_.actions.front().action == action)
      step_.actions.clear();  // the step restarts after an update was rolled back
    before_ = times_;
    step_.actions.push_back({.action = action, .start = now()});
    return;
  }
  WatchedAction& done = step_.actions.back();
  done.end = now();
  if (!partition::computes(action.kind)) return;
  done.layers = difference(times_, before_);
  done.computing = total(done.layers);
}

ProfiledStep ProfilingRun::run(const StepBatches& step) {
  StepWork work = loader_.work(step);
  step_ = {};
  step_.start = now();
  training_step_->run(std::move(work), loader_.reader(), clock_);
  step_.end = now();
  return std::move(step_);
}

/// Returns a common origin of time on this rank's clock: the present on rank 0's clock.
double ProfilingRun::common_zero() {
  const double ahead = clock_offset(world_);
  comm::barrier(world_);
  std::array<double, 1> zero{world_.rank() == 0 ? clock_seconds() : 0.0};
  comm::sum_disjoint(world_, zero);
  return zero[0] + ahead;
}

std::vector<ProfiledStep> ProfilingRun::run(const std::vector<StepBatches>& steps,
                                            const std::vector<StepBatches>& ahead) {
  std::size_t announced = 0;
  const auto announce_until = [&](std::size_t end) {
    for (; announced < std::min(end, steps.size() + ahead.size()); ++announced)
      loader_.announce(announced < steps.size() ? steps[announced]
                                                : ahead[announced - steps.size()]);
  };
  announce_until(1 + kStepsAhead);
  return comm::guarded(world_.shutdown(), [&] {
    zero_ = common_zero();
    std::vector<ProfiledStep> done;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      announce_until(i + 1 + kStepsAhead);
      done.push_back(run(steps[i]));
    }
    training_step_->flush(clock_);
    return done;
  });
}

}  // namespace penstock::runtime
