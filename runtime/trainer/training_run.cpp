#include "runtime/trainer/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "base/gib.h"
#include "base/host_memory.h"
#include "comm/collectives.h"
#include "configs/flatten.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/step_label.h"
#include "runtime/devices/rank_info.h"
#include "runtime/huggingface/kept_labels.h"
#include "runtime/job/consistency.h"
#include "runtime/job/share_epoch.h"
#include "runtime/job/shared_output.h"
#include "runtime/trainer/evaluation.h"
#include "runtime/trainer/host_memory_use.h"
#include "runtime/trainer/make_training_step.h"

namespace penstock::runtime {
namespace {

constexpr std::int64_t kStepsAhead = 2;  // steps for which features are prepared ahead

double audio_seconds(const StepBatches& batches, int rate) {
  std::int64_t samples = 0;
  for (const MicroBatch& batch : batches.micro_batches)
    for (const BatchUtterance& u : batch.utterances) samples += u.samples;
  return static_cast<double>(samples) / rate;
}

/// Returns the hash of the validation utterances, or an empty string if there are none.
std::string validation_hash(const PreparedTraining& training) {
  return training.config.data.validation.empty() ? "" : fmt::format("{}", training.validation.hash);
}

/// Returns the parts of an imported model that the run's checkpoints keep.
PassthroughParts kept_of(const PreparedTraining& training) {
  if (!training.context.leads()) return {};
  if (training.start) return read_kept(*training.start);
  if (!training.init) return {};
  PassthroughParts kept = read_kept(training.init->checkpoint);
  return training.init->same_labels ? kept : without_labels(std::move(kept));
}

/// Returns the patterns of parameters that were frozen before, which have no optimizer state in the
/// checkpoint. The run may train some of them.
std::vector<std::string> were_frozen(const PreparedTraining& training, const TrainingState& saved) {
  return saved_recipe(training.config, saved).optimizer.freeze;
}

bool changes_section(const PreparedTraining& training, std::string_view section) {
  return std::ranges::any_of(
      training.changes, [&](const Correction& change) { return change.key.starts_with(section); });
}

}  // namespace

// Ranks must take every decision alike, since all of them call each method. So decisions depend on
// the clock, on the recipe and on `heard_`, the notices that all ranks exchanged at the end of the
// last agreed step. Decisions of rank 0 alone are broadcast. With post-validation the last step may
// still be open; flush() closes it before a validation, a save and the end.

TrainingRun::TrainingRun(PlannedTraining training)
    : training_(std::move(training)),
      context_(training_.prepared.context),
      config_(training_.prepared.config),
      session_(context_.world, training_session_options(
                                   config_, training_.prepared.sequence, training_.plan,
                                   [this](std::size_t bytes) { return training_.fitting(bytes); })),
      saving_(session_.backend(), session_.stream(), session_.grid(), session_.stage(),
              training_.prepared.slots),
      skipped_(config_.trainer.max_skipped),
      failed_audio_(config_.data.failing_utterances, training_.prepared.corpus.draws(),
                    [this](std::uint64_t id) { return training_.prepared.corpus.name(id); }),
      best_(validation_hash(training_.prepared)) {
  require_shared_output();
  loader_ =
      std::make_unique<StepLoader>(training_.prepared.corpus, config_, training_.plan, session_);
  training_step_ = make_step();
  writer_ = make_writer();
  std::optional<Checkpoint>& start = training_.prepared.start;
  if (start) restore(*start);
  if (auto& init = training_.prepared.init)
    saving_.start_from({init->checkpoint, init->anew}, config_.trainer.seed);
  training_.prepared.init.reset();
  if (context_.leads())
    set_aside(config_.trainer.output, clock_.step,
              [this](const std::string& text) { context_.note(text); });
  if (start) recall_best(start->state());
  start.reset();
  begin();
}

void TrainingRun::require_shared_output() {
  const auto& lock = training_.prepared.lock;
  const bool writes = session_.grid().here().replica == 0 || config_.pipeline.shard_optimizer;
  check_shared_output(context_.world, {config_.trainer.output, lock ? lock->token() : "", writes});
}

/// Creates the writer and, if memory allows, a copy of the state. The copy is not part of the plan.
/// If it does not fit beside it, training waits for the disk during a save.
std::unique_ptr<CheckpointWriter> TrainingRun::make_writer() {
  auto writer = std::make_unique<CheckpointWriter>(
      saving_,
      CheckpointWriter::Options{.output = config_.trainer.output,
                                .tokenizer = std::string(training_.prepared.tokenizer->model()),
                                .kept = kept_of(training_.prepared),
                                .keep = config_.trainer.keep});
  const bool on_cpu = session_.backend().kind() == layers::DeviceKind::cpu;
  const partition::StageBytes& planned = training_.plan.bytes_of(session_.grid().here().stage);
  std::string lack = memory_shortage(
      context_.world,
      {.machine = machine_name(),
       .machine_bytes = host_memory(),
       .planned = static_cast<double>(planned.host + (on_cpu ? planned.total() : 0)),
       .limit = on_cpu ? config_.pipeline.memory_gib * kGib : 0,
       .copy = static_cast<double>(bytes_of(saving_.pieces()))});
  if (lack.empty()) lack = writer->write_beside();
  if (!lack.empty())
    context_.note(fmt::format("training waits while a checkpoint is written: {}", lack));
  return writer;
}

std::unique_ptr<TrainingStep> TrainingRun::make_step() {
  const ReductionOrder order = reduction_order(config_, training_.plan, session_.device().links);
  if (config_.pipeline.reduction == "nccl" && order == ReductionOrder::lanes)
    context_.note(
        "pipeline.reduction is nccl, but the replicas of this job have no links over NCCL: they "
        "add gradients in the tree of lanes");
  return make_training_step(session_, {.config = config_,
                                       .sequence = training_.prepared.sequence,
                                       .plan = training_.plan,
                                       .shape = training_.shape,
                                       .failed = loader_->failed(),
                                       .notices = [this] { return own_notices(); }});
}

void TrainingRun::restore(const Checkpoint& checkpoint) {
  const TrainingState& saved = checkpoint.state();
  saving_.restore(checkpoint, true, were_frozen(training_.prepared, saved));
  clock_ = {saved.step, saved.optimizer_steps};
  if (training_.prepared.data_origin == saved.data_origin) {
    training_.steps.know(saved.epoch, saved.step - saved.step_in_epoch);
    if (saved.epoch != training_.steps.options().start.epoch)  // all ranks have this epoch
      share_epoch(training_.prepared.context.world, training_.steps, saved.epoch);
  }
  corrections_ = saved.corrections;
  for (const Correction& change : training_.prepared.changes) corrections_.push_back(change);
  if (!changes_section(training_.prepared, "precision."))  // another scaling rule starts afresh
    training_step_->loss_scale().restore(saved.loss_scale);
  saved_ = saved.step;
  announced_ = saved.step;
  summary_.last_step.step = saved.step;
  summary_.checkpoint = checkpoint.folder();
}

void TrainingRun::recall_best(const TrainingState& saved) {
  const bool stored = context_.leads() && restore_best(config_.trainer.output, saved);
  const std::string told = best_.recall(
      saved, !comm::broadcast(context_.world, std::string(stored ? "stored" : "")).empty());
  if (!told.empty()) context_.note(told);
}

/// Opens metrics.jsonl and reports the beginning. The broadcast at its end also lets all ranks know
/// that the output folder is ready.
void TrainingRun::begin() {
  const partition::Plan& plan = training_.plan;
  summary_.parameters = parameter_count(training_.prepared.sequence);
  summary_.utterances = static_cast<std::int64_t>(training_.prepared.corpus.size());
  if (context_.leads()) {
    metrics_ = std::make_unique<MetricsFile>(
        std::filesystem::path(config_.trainer.output) / "metrics.jsonl", clock_.step,
        [this](const std::string& note) { context_.note(note); });
    if (const std::string& how = session_.device().how; !how.empty()) context_.note(how);
    context_.note(fmt::format("{} a rank; {} × {}, {}; {} parameters; {}",
                              session_.backend().description(), counted(plan.stages(), "stage"),
                              counted(plan.replicas(), "replica"), counted(plan.lanes, "lane"),
                              summary_.parameters, counted(summary_.utterances, "utterance")));
    if (context_.observer.begin) context_.observer.begin(clock_.step, config_.trainer.steps);
  }
  if (context_.stop_asked) context_.stop_asked();  // requests are noticed from now on
  const bool missed = context_.leads() && clock_.step > 0 && !finished() && !metrics_->validated();
  missed_ = !comm::broadcast(context_.world, std::string(missed ? "missed" : "")).empty() &&
            validation_due_before(clock_.step);
  saved_at_ = Clock::now();
}

void TrainingRun::announce_ahead() {
  const std::int64_t until = std::min(clock_.step + 1 + kStepsAhead, config_.trainer.steps);
  for (; announced_ < until; ++announced_) loader_->announce(training_.steps.at(announced_));
}

void TrainingRun::step() {
  const auto start = Clock::now();
  heard_ = {};
  const StepBatches batches = training_.steps.at(clock_.step);
  StepWork work = loader_->work(batches);
  if (loader_->reads()) announce_ahead();
  StepReport& report = under_way_.emplace_back();
  report.epoch = batches.epoch;
  report.utterances = batches.utterances;
  report.audio_seconds = audio_seconds(batches, config_.features.sample_rate);
  const std::optional<StepWork> next = next_to_read();
  const auto agreed =
      training_step_->run(std::move(work), loader_->reader(), clock_, next ? &*next : nullptr);
  report.step_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const StepReport& of_step : agreed) record(of_step);
}

/// Returns the next step if its features may be copied to a device before this step ends. They may
/// not across epochs, since failures of audio are counted per epoch, nor across a validation, which
/// reads its own.
std::optional<StepWork> TrainingRun::next_to_read() {
  const std::int64_t next = clock_.step + 1;
  if (!loader_->reads() || session_.backend().kind() == layers::DeviceKind::cpu ||
      next >= config_.trainer.steps || begins_epoch(next) || validation_due_before(next))
    return {};
  return loader_->work(training_.steps.at(next));
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
  heard_ = report.notices;
  ++summary_.steps;
  summary_.audio_seconds += report.audio_seconds;
  summary_.seconds += report.step_seconds;
  if (context_.leads()) {
    metrics_->write(report);
    if (context_.observer.step) context_.observer.step(report);
  }
  failed_audio_.check(context_.world, report.epoch, report.failed_utterances,
                      [this] { return loader_->failures(); });
  skipped_.count(report);
  summary_.skipped = skipped_.total();
}

bool TrainingRun::begins_epoch(std::int64_t step) const {
  return training_.steps.at(step).step_in_epoch == 0;
}

bool TrainingRun::validation_due_before(std::int64_t step) const {
  const std::int64_t every = config_.trainer.validate_every;
  if (training_.prepared.validation.lengths.empty() || every < 0) return false;
  return step >= config_.trainer.steps || (every == 0 ? begins_epoch(step) : step % every == 0);
}

void TrainingRun::validate() {
  flush();
  const PreparedTraining& prepared = training_.prepared;
  const Evaluation evaluation = evaluate(session_, prepared.validation, *prepared.tokenizer,
                                         {config_.features, config_.data, config_.trainer.threads});
  EvaluationReport report = evaluation.report;
  FailedAudio(config_.data.failing_utterances, prepared.validation.size())
      .check(context_.world, 0, report.skipped - prepared.validation.skipped,
             [&] { return evaluation.failures; });
  report.step = clock_.step;
  summary_.last_validation = report;
  if (context_.leads()) {
    metrics_->write(report);
    if (context_.observer.validation) context_.observer.validation(report);
  }
  if (best_before_) await_save();  // if it failed, the previous best counts again
  if (summary_.last_step.skipped || !best_.beaten_by(report)) return;  // see checkpoint_due()
  await_save();
  best_before_ = best_;
  best_.set(report);
  save(BestCheckpoint{report.step, "wer", report.wer});
}

bool TrainingRun::checkpoint_due() {
  if (saved_ == clock_.step || !checkpoint_time()) return false;
  flush();
  return !summary_.last_step.skipped;  // divergence must not replace good checkpoints
}

bool TrainingRun::checkpoint_time() const {
  const std::int64_t every = config_.trainer.checkpoint_every;
  return heard_.due > 0 || (every == 0 ? begins_epoch(clock_.step) : clock_.step % every == 0);
}

/// Returns this rank's notices. While a save is in progress none is due: if disks are slower than
/// trainer.checkpoint_seconds, saves follow each other without a pause.
Notices TrainingRun::own_notices() const {
  Notices own;
  own.stop = context_.stop_asked && context_.stop_asked();
  const double seconds = config_.trainer.checkpoint_seconds;
  own.due = context_.leads() && seconds > 0 && !writer_->busy() &&
            std::chrono::duration<double>(Clock::now() - saved_at_).count() >= seconds;
  writer_->tell(own);
  return own;
}

TrainingState TrainingRun::state() const {
  TrainingState state;
  state.step = clock_.step;
  state.optimizer_steps = clock_.optimizer_steps;
  const StepBatches next = training_.steps.at(clock_.step);
  state.epoch = next.epoch;
  state.step_in_epoch = next.step_in_epoch;
  state.seed = config_.trainer.seed;
  state.lanes = training_.plan.lanes;
  state.loss_scale = training_step_->loss_scale().state();
  state.corpus_hash = fmt::format("{}", training_.prepared.corpus.hash);
  state.config = configs::flatten(config_);
  state.plan_toml = partition::plan_toml(training_.plan);
  state.corrections = corrections_;
  state.data_origin = training_.prepared.data_origin;
  best_.write_to(state);
  return state;
}

void TrainingRun::save(const std::optional<BestCheckpoint>& best) {
  flush();
  await_save();
  heard_ = {};  // these were from before the new save
  saved_ = clock_.step;
  saved_at_ = Clock::now();
  writer_->begin(state(), best);
  if (!writer_->beside()) await_save();
}

void TrainingRun::advance_save() {
  if (const auto outcome = writer_->hear(heard_)) settle(*outcome);
  stopping_ = stopping_ || heard_.stop > 0;
}

void TrainingRun::await_save() {
  const auto start = Clock::now();
  const auto outcome = writer_->wait();
  if (!outcome) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (seconds >= 1 && writer_->beside() && !finished())
    context_.note(fmt::format("training waited {:.0f} s until the checkpoint of step {} was {}",
                              seconds, outcome->step,
                              outcome->fault.empty() ? "written" : "given up"));
  settle(*outcome);
}

/// Records the outcome of a save. A failed save does not end the run.
void TrainingRun::settle(const SaveOutcome& outcome) {
  if (outcome.fault.empty()) {
    summary_.checkpoint = outcome.folder;
    if (!outcome.aside.empty())
      context_.note(fmt::format("the checkpoint of step {} is whole, but behind it: {}",
                                outcome.step, outcome.aside));
  } else {
    if (best_before_) best_ = *best_before_;
    if (saved_ == outcome.step) saved_ = -1;
    failed_ = outcome;
    context_.note(fmt::format("the checkpoint of step {} can't be written: {}\nEarlier ones stay.",
                              outcome.step, outcome.fault));
  }
  best_before_.reset();
}

TrainingSummary TrainingRun::finish() {
  flush();
  await_save();
  if (saved_ != clock_.step && failed_.step != clock_.step) {
    save();
    await_save();
  }
  if (saved_ != clock_.step) throw CheckpointError(failed_.fault);
  summary_.stopped = clock_.step < config_.trainer.steps;
  if (training_step_->optimistic() > 0)
    context_.note(fmt::format("post-validation rolled back {} of {}", training_step_->rolled_back(),
                              counted(training_step_->optimistic(), "update")));
  skipped_.check_end();
  return summary_;
}

}  // namespace penstock::runtime
