#include "runtime/trainer/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "comm/collectives.h"
#include "configs/flatten.h"
#include "configs/value.h"
#include "partition/model/build_model.h"
#include "partition/plan/plan_file.h"
#include "partition/plan/plan_schedule.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/resume.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/corpus/corpora.h"
#include "runtime/devices/device.h"
#include "runtime/job/consistency.h"
#include "runtime/job/shared_output.h"
#include "runtime/planning/fitting_plan.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"
#include "runtime/trainer/evaluation.h"

namespace penstock {
namespace {

constexpr std::int64_t kStepsAhead = 2;  // for which features are made beforehand

Config checked(const TrainingTask& task, Communicator& world) {
  check_features(task.recipe);
  check_training_manifest(task.recipe);
  const Config planned = with_plan_file(task.recipe);
  if (!task.alone) check_ranks(planned, world.size());
  require_same_recipe(world, planned);
  return planned;
}

double audio_seconds(const StepBatches& batches, int rate) {
  std::int64_t samples = 0;
  for (const MicroBatch& batch : batches.micro_batches)
    for (const BatchUtterance& u : batch.utterances) samples += u.samples;
  return static_cast<double>(samples) / rate;
}

}  // namespace

TrainingRun::TrainingRun(const TrainingTask& task, Communicator& world,
                         const TrainingObserver& observer)
    : config_(checked(task, world)),
      world_(world),
      observer_(observer),
      skipped_(config_.trainer.max_skipped),
      alphabet_(config_.text),
      sequence_(build_model(config_.model, alphabet_.classes())) {
  require_devices(config_.trainer, world);  // before anything is read, planned or written
  const OptimizerSlots slots = make_optimizer(config_.optimizer)->slots();
  summary_.parameters = parameter_count(sequence_);
  if (leads()) {
    probe_output(config_.trainer.output,
                 checkpoint_bytes(summary_.parameters, slots.of_elements.size()));
    lock_ = std::make_unique<OutputLock>(config_.trainer.output);
  }
  const auto tell = [this](const std::string& text) { note(text); };
  start_ = find_start(config_, world, tell);
  if (start_) check_unchanged(config_, start_->state());
  if (start_) note_renamed_keys(start_->state(), tell);
  if (start_) note_threads(config_, start_->state(), tell);
  if (start_) note_reduction(config_, start_->state(), tell);
  config_.trainer.lanes = choose_lanes(config_, start_ ? &start_->state() : nullptr, tell);
  config_.trainer.order = choose_order(config_, start_ ? &start_->state() : nullptr);
  const Config asked = config_;
  if (task.alone) work_alone();
  corpus_ = load(config_.data.train, CorpusUse::training);
  if (!config_.data.validation.empty()) {
    validation_corpus_ = load(config_.data.validation, CorpusUse::evaluation);
    best_ = BestValidation(std::to_string(validation_corpus_.hash));
  }

  steps_ = std::make_unique<StepSequence>(steps_of(config_));
  const RunShape shape = shape_of(config_, *steps_);
  if (!start_ && wants_order(asked)) take_order(shared_order(world, sequence_, asked, shape));
  plan_ = shared_plan(shape);

  session_ = std::make_unique<Session>(world, config_, sequence_, plan_, slots.counts(),
                                       [this](std::size_t bytes) { return fitting(bytes); });
  const std::vector<int> lanes_of = plan_.lanes_of_replicas();
  const int replica = session_->grid().here().replica;
  check_shared_output(world, {config_.trainer.output, lock_ ? lock_->token() : "",
                              replica == 0 || config_.pipeline.shard_optimizer});
  lanes_.first = std::accumulate(lanes_of.begin(), lanes_of.begin() + replica, 0);
  lanes_.count = lanes_of[replica];

  TrainingStep::Options how;
  how.optimizer = config_.optimizer;
  how.schedule = config_.lr_schedule;
  how.precision = config_.precision;
  how.bucket_bytes = config_.pipeline.bucket_bytes;
  how.model_blocks = model_blocks(sequence_);
  how.lanes_of = lanes_of;
  how.links = session_->device().links;
  how.reduction = reduction();
  how.post_validation = config_.pipeline.post_validation;
  if (session_->stage().first()) {
    feed_ = std::make_unique<FeatureFeed>(corpus_, config_.features, config_.data);
    how.failed = [this] { return feed_->failed(); };
  }
  failed_audio_ = FailedAudio(config_.data.failing_utterances, corpus_.entries.size());
  training_step_ = std::make_unique<TrainingStep>(session_->backend(), session_->stream(),
                                                  session_->grid(), session_->stage(), how);
  session_->on_progress([this] { training_step_->progress(); });
  saving_ =
      std::make_unique<Saving>(session_->backend(), session_->stream(), session_->grid(),
                               session_->stage(), Saving::Options{config_.trainer.output, slots});
  reserve_buffers(shape);
}

Corpus TrainingRun::load(const std::string& manifest, CorpusUse use) {
  const PlannedModel model = planned_model(sequence_, config_.model, alphabet_.classes());
  return load_corpus(corpus_options(config_, sequence_, manifest, use), alphabet_, world_,
                     corpus_readers(config_, model));
}

StepSequenceOptions TrainingRun::steps_of(const Config& config) const {
  return {corpus_.lengths,     config.data,          config.features,
          config.trainer.seed, config.trainer.lanes, config.trainer.order};
}

/// Bits follow from the order, so that a process alone takes that of the recipe's ranks.
void TrainingRun::take_order(const std::vector<int>& order) {
  if (order.empty()) return;
  config_.trainer.order = order;
  steps_ = std::make_unique<StepSequence>(steps_of(config_));
  note("the micro-batches of a step are in the order trainer.order = " +
       value_text(&config_.trainer.order) + ", as found; the run keeps it");
}

RunShape TrainingRun::shape_of(const Config& config, const StepSequence& steps) const {
  return shape_of_run(config, steps, validation_corpus_.lengths, alphabet_.classes());
}

std::string TrainingRun::fitting(std::size_t bytes) const {
  const auto shape = [this](const Config& changed) {
    return shape_of(changed, StepSequence(steps_of(changed)));
  };
  return fitting_plan(sequence_, config_, shape, bytes);
}

ReductionOrder TrainingRun::reduction() const {
  if (config_.pipeline.reduction != "nccl") return ReductionOrder::lanes;
  if (session_->device().links == DeviceLinks::nccl || plan_.replicas() == 1)
    return ReductionOrder::library;
  note(
      "pipeline.reduction is nccl, but replicas do not meet over NCCL here: gradients are added "
      "in lane order");
  return ReductionOrder::lanes;
}

void TrainingRun::work_alone() {
  const int ranks = config_.pipeline.stages * config_.pipeline.replicas;
  const double limit = config_.pipeline.memory_gib;
  config_ = alone(config_);
  if (ranks > 1 && limit > 0)
    note(
        fmt::format("alone, this process stands for {} ranks: it may use {} × pipeline.memory_gib, "
                    "{:g} GiB",
                    ranks, ranks, config_.pipeline.memory_gib));
}

/// Rank 0's, since measured costs differ from rank to rank.
Plan TrainingRun::shared_plan(const RunShape& shape) {
  std::string text;
  if (leads()) {
    const bool measure = config_.pipeline.stages > 1 && config_.pipeline.plan.empty();
    const auto costs =
        measure ? measured_or_computed_costs(sequence_, config_, shape,
                                             [this](const std::string& text) { note(text); })
                : computed_costs(sequence_, config_, shape);
    text = plan_toml(plan_run(sequence_, config_, shape, costs));
  }
  return parse_plan(broadcast(world_, text), "the plan of rank 0",
                    planned_model(sequence_, config_.model, alphabet_.classes()));
}

/// What was planned, so that no step and no validation allocates.
void TrainingRun::reserve_buffers(const RunShape& shape) {
  const ChunkBytes bytes = bytes_of_run(sequence_, config_, shape, schedule_of(plan_));
  std::vector<ChunkBuffers> own;
  for (int i = 0; i < static_cast<int>(plan_.chunks.size()); ++i) {
    const ChunkPlan& chunk = plan_.chunks[i];
    if (chunk.stage == session_->grid().here().stage)
      own.push_back(bytes.buffers(chunk.first, chunk.last(), i));
  }
  session_->stage().reserve(own);
}

void TrainingRun::resume() {
  summary_.utterances = static_cast<std::int64_t>(corpus_.entries.size());

  if (start_) {
    const TrainingState& saved = start_->state();
    check_corpus(std::to_string(corpus_.hash), saved);
    saving_->restore(*start_, true);
    clock_ = {saved.step, saved.optimizer_steps};
    training_step_->loss_scale().restore(saved.loss_scale);
    saved_ = saved.step;
    summary_.last_step.step = saved.step;
    summary_.checkpoint = start_->folder();
  }
  announced_ = clock_.step;
  if (leads()) set_aside_after(config_.trainer.output, clock_.step);
  if (start_) recall_best(start_->state());
  start_.reset();
  if (leads()) {
    metrics_ = std::make_unique<MetricsFile>(
        std::filesystem::path(config_.trainer.output) / "metrics.jsonl", clock_.step);
    if (const std::string& how = session_->device().how; !how.empty()) note(how);
    note(session_->backend().description() + " a rank; " + std::to_string(plan_.stages()) +
         " stages × " + std::to_string(plan_.replicas()) + " replicas, " +
         std::to_string(plan_.lanes) + " lanes; " + std::to_string(summary_.parameters) +
         " parameters; " + std::to_string(summary_.utterances) + " utterances");
    if (observer_.begin) observer_.begin(clock_.step, config_.trainer.steps);
  }
  barrier(world_);
  saved_at_ = Clock::now();
}

void TrainingRun::recall_best(const TrainingState& saved) {
  const bool stored = leads() && restore_best(config_.trainer.output, saved);
  const std::string told =
      best_.recall(saved, !broadcast(world_, std::string(stored ? "stored" : "")).empty());
  if (!told.empty()) note(told);
}

void TrainingRun::announce_ahead() {
  const std::int64_t until = std::min(clock_.step + 1 + kStepsAhead, config_.trainer.steps);
  for (; announced_ < until; ++announced_) {
    const StepBatches batches = steps_->at(announced_);
    const StepWork work = training_work(batches, corpus_, 0, lanes_, false);
    feed_->announce(batches.epoch, batches_of(work, batches.micro_batches));
  }
}

void TrainingRun::step() {
  const auto start = Clock::now();
  const StepBatches batches = steps_->at(clock_.step);
  StepWork work = training_work(batches, corpus_, config_.trainer.seed, lanes_,
                                session_->stage().needs_targets());
  if (feed_) announce_ahead();
  StepReport& report = under_way_.emplace_back();
  report.epoch = batches.epoch;
  report.utterances = batches.utterances;
  report.audio_seconds = audio_seconds(batches, config_.features.sample_rate);
  const auto agreed =
      training_step_->run(std::move(work), feed_ ? feed_->reader() : ReadFeatures{}, clock_);
  report.step_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const StepReport& of_step : agreed) record(of_step);
}

void TrainingRun::flush() {
  if (const auto report = training_step_->flush(clock_)) record(*report);
}

void TrainingRun::record(StepReport report) {
  const StepReport& known = under_way_.front();
  report.epoch = known.epoch;
  report.utterances = known.utterances;
  report.audio_seconds = known.audio_seconds;
  report.step_seconds = known.step_seconds;
  under_way_.pop_front();

  summary_.last_step = report;
  ++summary_.steps;
  summary_.audio_seconds += report.audio_seconds;
  summary_.seconds += report.step_seconds;
  if (leads()) {
    metrics_->write(report);
    if (observer_.step) observer_.step(report);
  }
  failed_audio_.check(world_, report.epoch, report.failed_utterances, [this] {
    return feed_ ? feed_->failures() : std::vector<FailedUtterance>();
  });
  skipped_.count(report);
  summary_.skipped = skipped_.total();
}

bool TrainingRun::epoch_ends() const { return steps_->at(clock_.step).step_in_epoch == 0; }

bool TrainingRun::validation_due() const {
  const std::int64_t every = config_.trainer.validate_every;
  if (validation_corpus_.entries.empty() || every < 0) return false;
  return finished() || (every == 0 ? epoch_ends() : clock_.step % every == 0);
}

void TrainingRun::validate() {
  flush();
  EvaluationReport report =
      evaluate(*session_, validation_corpus_, alphabet_, {config_.features, config_.data}).report;
  report.step = clock_.step;
  summary_.last_validation = report;
  if (leads()) {
    metrics_->write(report);
    if (observer_.validation) observer_.validation(report);
  }
  if (summary_.last_step.skipped || !best_.beaten_by(report)) return;  // as in checkpoint_due()
  best_.set(report);
  save();
  if (leads()) mark_best(config_.trainer.output, {report.step, "wer", report.wer});
}

bool TrainingRun::checkpoint_due() {
  if (saved_ == clock_.step || !checkpoint_time()) return false;
  flush();
  return !summary_.last_step.skipped;  // divergence must not push good checkpoints out
}

bool TrainingRun::checkpoint_time() {
  const TrainerConfig& t = config_.trainer;
  if (t.checkpoint_every == 0 ? epoch_ends() : clock_.step % t.checkpoint_every == 0) return true;
  if (t.checkpoint_seconds == 0) return false;  // clocks differ, so asking costs a message a step
  double since = std::chrono::duration<double>(Clock::now() - saved_at_).count();
  broadcast(world_, std::as_writable_bytes(std::span(&since, 1)));
  return since >= t.checkpoint_seconds;
}

TrainingState TrainingRun::state() const {
  TrainingState state;
  state.step = clock_.step;
  state.optimizer_steps = clock_.optimizer_steps;
  const StepBatches next = steps_->at(clock_.step);
  state.epoch = next.epoch;
  state.step_in_epoch = next.step_in_epoch;
  state.seed = config_.trainer.seed;
  state.lanes = plan_.lanes;
  state.loss_scale = training_step_->loss_scale().state();
  state.corpus_hash = std::to_string(corpus_.hash);
  state.config = flatten(config_);
  state.plan_toml = plan_toml(plan_);
  best_.write_to(state);
  return state;
}

void TrainingRun::save() {
  flush();
  summary_.checkpoint = saving_->save(state());
  saved_ = clock_.step;
  saved_at_ = Clock::now();
  if (leads()) keep_newest(config_.trainer.output, config_.trainer.keep);
}

TrainingSummary TrainingRun::finish() {
  flush();
  if (saved_ != clock_.step) save();
  if (training_step_->optimistic() > 0)
    note(fmt::format("post-validation rolled back {} of {} updates", training_step_->rolled_back(),
                     training_step_->optimistic()));
  skipped_.check_end();
  return summary_;
}

void TrainingRun::note(const std::string& text) const {
  if (leads() && observer_.note) observer_.note(text);
}

}  // namespace penstock
