#include "runtime/profiling/profiling_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/collectives.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/corpus/augment_sounds.h"
#include "runtime/corpus/corpora.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"
#include "runtime/profiling/links/clocks.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/make_training_step.h"

// The run is a training without files: the same session, loader and training step, watched by a
// callback before and after each action. Each action's times in layers are the difference of the
// stage's running totals, so nothing is measured twice. A pass spends the rest of its time waiting
// or reading features.
//
// Ranks' clocks start anywhere. common_zero() gives them one origin: rank 0's present, plus what
// this rank's clock is ahead of it (links/clocks.h). Its barrier and sum also let all ranks begin
// together.

namespace penstock::runtime {
namespace {

/// Rank 0 makes the index if there is none. The others wait at the barrier and then find it ready.
Corpus load_in_turn(const configs::Config& config, const partition::LayerSequence& sequence,
                    const Tokenizer& tokenizer, comm::Communicator& world) {
  const auto load = [&] { return load_augmented_corpus(config, sequence, tokenizer); };
  std::optional<Corpus> corpus;
  if (world.rank() == 0) corpus = load();
  comm::barrier(world);
  return corpus ? std::move(*corpus) : load();
}

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

/// The wire format of an action or, if `kind` is negative, of the beginning of a step.
struct Row {
  std::int32_t kind = -1, chunk = 0, micro_batch = 0, unused = 0;
  double start = 0, end = 0, computing = 0;
};

std::string rows_of(const std::vector<ProfiledStep>& steps) {
  std::vector<Row> rows;
  for (const ProfiledStep& step : steps) {
    rows.push_back({.start = step.start, .end = step.end});
    for (const WatchedAction& a : step.actions)
      rows.push_back({static_cast<std::int32_t>(a.action.kind), a.action.chunk,
                      a.action.micro_batch, 0, a.start, a.end, a.computing});
  }
  return {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row)};
}

std::vector<ProfiledStep> steps_of(const std::string& bytes) {
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  std::copy_n(bytes.data(), rows.size() * sizeof(Row), reinterpret_cast<char*>(rows.data()));
  std::vector<ProfiledStep> steps;
  for (const Row& row : rows) {
    if (row.kind < 0) {
      steps.push_back({row.start, row.end, {}});
      continue;
    }
    steps.back().actions.push_back(
        {{static_cast<partition::ActionKind>(row.kind), row.chunk, row.micro_batch},
         row.start,
         row.end,
         row.computing});
  }
  return steps;
}

}  // namespace

ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world) {
  check_features(recipe);
  check_training_manifest(recipe);
  configs::Config config = with_plan_file(with_saved_tokenizer(recipe));
  if (config.trainer.lanes == 0) config.trainer.lanes = config.pipeline.replicas;
  config.data.validation.clear();
  config.data.short_first = 0;  // steps like those of the whole training are measured
  auto tokenizer = make_tokenizer(config.text);
  partition::LayerSequence sequence = partition::build_trained_model(config, tokenizer->labels());
  Corpus corpus = load_in_turn(config, sequence, *tokenizer, world);
  const auto steps_of = [&] {
    return StepSequence({corpus.lengths,
                         config.data,
                         config.features,
                         config.trainer.seed,
                         config.trainer.lanes,
                         config.trainer.order,
                         {},
                         corpus.mixture,
                         corpus.most_labels,
                         corpus.labels_per_second()});
  };
  RunShape shape = shape_of_run(config, steps_of(), {}, tokenizer->labels());
  config.trainer.order = shared_order(world, sequence, config, shape);
  StepSequence steps = steps_of();
  const int labels = tokenizer->labels();
  return {std::move(config), labels,           std::move(sequence), std::move(corpus),
          std::move(steps),  std::move(shape), std::move(tokenizer)};
}

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

// Only passes compute in layers. Other actions are messages, copies, reductions and the optimizer's
// step.
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

// The loader is always told of kStepsAhead further steps, so that it works beside each step as in a
// training.
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

std::vector<std::vector<ProfiledStep>> gather_actions(comm::Communicator& world,
                                                      const std::vector<ProfiledStep>& own) {
  std::vector<std::vector<ProfiledStep>> all;
  for (const std::string& bytes : comm::gather(world, rows_of(own))) all.push_back(steps_of(bytes));
  return all;
}

}  // namespace penstock::runtime
