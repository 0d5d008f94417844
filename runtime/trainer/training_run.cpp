#include "runtime/trainer/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/quantities.h"
#include "comm/agree.h"
#include "comm/collectives.h"
#include "configs/flatten.h"
#include "partition/layout/build_model.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/devices/rank_info.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/job/consistency.h"
#include "runtime/job/shared_output.h"
#include "runtime/trainer/make_training_step.h"
#include "runtime/trainer/run_validation.h"
#include "runtime/trainer/state_copy.h"

namespace penstock::runtime {
namespace {

constexpr std::int64_t kStepsAhead = 2;  // steps for which features are prepared ahead

double audio_seconds(const StepBatches& batches, int rate) {
  std::int64_t samples = 0;
  for (const MicroBatch& batch : batches.micro_batches)
    for (const BatchUtterance& u : batch.utterances) samples += u.samples;
  return static_cast<double>(samples) / rate;
}

/// Returns the parts of an imported model that the run's checkpoints keep.
PassthroughParts kept_of(const PreparedTraining& training) {
  if (!training.context.leads()) return {};
  if (training.start) return read_kept(*training.start);
  if (!training.init) return {};
  PassthroughParts kept = read_kept(training.init->checkpoint);
  return training.init->same_labels ? kept : without_labels(std::move(kept));
}

/// Returns the parameters that were frozen before, by optimizer.freeze or beside adapters. They
/// have no optimizer state in the checkpoint. The run may train some of them.
std::set<std::string> were_frozen(const PreparedTraining& training, const TrainingState& saved) {
  const partition::LayerSequence before = partition::build_trained_model(
      saved_recipe(training.config, saved), training.tokenizer->labels());
  std::set<std::string> names;
  for (const layers::LayerPlan& plan : partition::plan_without_frames(before, {}))
    for (const layers::ParamDecl& p : plan.params)
      if (p.frozen()) names.insert(p.name);
  return names;
}

/// Returns the changes over the whole run, earlier ones first.
std::vector<Correction> all_changes(const PreparedTraining& training) {
  std::vector<Correction> changes;
  if (training.start) changes = training.start->state().corrections;
  changes.insert(changes.end(), training.changes.begin(), training.changes.end());
  return changes;
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

// The constructor proceeds in this order:
//   1. the session, with random weights
//   2. the training step, which reserves all buffers of the plan
//   3. the copy of the state for saves, which may take the memory that the plan leaves
//   4. the checkpoint to resume from, or the weights of trainer.init
//   5. the output folder: set_aside(), the mark BEST, the files of metrics
// Before 5 no checkpoint of the folder is touched, so a run that fails until then does no harm.
// recall_validations() follows set_aside(), because a mark on a checkpoint that is set aside must
// go.
TrainingRun::TrainingRun(PlannedTraining training)
    : training_(std::move(training)),
      scaling_(config(), all_changes(training_.prepared)),
      session_(
          context().world,
          training_session_options(config(), training_.prepared.sequence, training_.plan,
                                   [this](std::size_t bytes) { return training_.fitting(bytes); })),
      saving_(session_.backend(), session_.stream(), session_.grid(), session_.stage(),
              training_.prepared.slots),
      early_stopping_({.basis = validation_basis(training_.prepared),
                       .patience = config().trainer.early_stopping_patience,
                       .threshold = config().trainer.early_stopping_threshold}),
      log_(context()),
      skipped_(config().trainer.max_skipped),
      failed_audio_(config().data.failing_utterances, training_.prepared.corpus.draws(),
                    [this](std::uint64_t id) { return training_.prepared.corpus.name(id); }) {
  require_shared_output();
  loader_ =
      std::make_unique<StepLoader>(training_.prepared.corpus, config(), training_.plan, session_);
  training_step_ = make_step();
  record_actions();
  mirror_ = make_mirror();
  checkpoints_ = make_checkpoints();
  write_beside();
  std::optional<Checkpoint>& start = training_.prepared.start;
  if (start) restore(*start);
  if (auto& init = training_.prepared.init)
    saving_.start_from({init->checkpoint, init->anew, init->kept}, config().trainer.seed);
  training_.prepared.init.reset();
  if (context().leads())
    set_aside(training_.prepared.output, clock_.step,
              [this](const std::string& text) { context().note(text); });
  if (start) recall_validations(start->state());
  start.reset();
  begin();
}

// Only ranks that write shards must see rank 0's output folder: the first replica of each stage or,
// if replicas share the update, all.
void TrainingRun::require_shared_output() {
  const auto& lock = training_.prepared.lock;
  const bool writes = session_.grid().here().replica == 0 || config().pipeline.shard_optimizer;
  check_shared_output(context().world,
                      {training_.prepared.output, lock ? lock->token() : "", writes});
}

std::unique_ptr<RunCheckpoints> TrainingRun::make_checkpoints() {
  return std::make_unique<RunCheckpoints>(
      saving_,
      CheckpointWriter::Options{.output = training_.prepared.output,
                                .tokenizer = std::string(training_.prepared.tokenizer->model()),
                                .kept = kept_of(training_.prepared),
                                .keep = config().trainer.keep,
                                .incarnation = context().incarnation,
                                .mirror = mirror_.get()},
      BestValidation(validation_basis(training_.prepared)),
      [this](const std::string& text) { context().note(text); });
}

/// Returns what uploads checkpoints, on rank 0 of a run that does.
std::unique_ptr<Mirror> TrainingRun::make_mirror() {
  const PreparedTraining& prepared = training_.prepared;
  if (!context().leads() || !prepared.remote) return nullptr;
  context().note(fmt::format("checkpoints are written to {} and uploaded to {}",
                             prepared.output.string(), prepared.remote->text()));
  return std::make_unique<Mirror>(
      Mirror::Options{.url = *prepared.remote,
                      .output = prepared.output,
                      .keep = config().trainer.keep,
                      .patience = std::chrono::duration<double>(config().trainer.mirror_seconds)});
}

/// Makes a copy of the state if memory allows. The copy is not part of the plan. If it does not fit
/// beside it, training waits for the disk during a save.
void TrainingRun::write_beside() {
  const bool on_cpu = session_.backend().kind() == layers::DeviceKind::cpu;
  const partition::StageBytes& planned = training_.plan.bytes_of(session_.grid().here().stage);
  std::string lack = memory_shortage(
      context().world,
      {.machine = machine_name(),
       .machine_bytes = host_memory(),
       .planned = static_cast<double>(planned.host + (on_cpu ? planned.total() : 0)),
       .limit = on_cpu ? config().pipeline.memory_gib * kGib : 0,
       .copy = static_cast<double>(bytes_of(saving_.pieces()))});
  if (lack.empty()) lack = checkpoints_->writer().write_beside();
  if (!lack.empty())
    context().note(fmt::format("training waits while a checkpoint is written: {}", lack));
}

std::unique_ptr<TrainingStep> TrainingRun::make_step() {
  const ReductionOrder order = reduction_order(config(), training_.plan, session_.device().links);
  if (config().pipeline.reduction == "nccl" && order == ReductionOrder::lanes)
    context().note(
        "pipeline.reduction is nccl, but the replicas of this job have no links over NCCL: they "
        "add gradients in the tree of lanes");
  return make_training_step(session_, {.config = config(),
                                       .sequence = training_.prepared.sequence,
                                       .plan = training_.plan,
                                       .shape = training_.shape,
                                       .scaling = scaling_,
                                       .failed = loader_->failed(),
                                       .notices = [this] { return own_notices(); }});
}

/// Records each action in the activity, with its planned time. The action `step` has the planned
/// time of all others: on a device, the host enqueues those and waits in `step`.
void TrainingRun::record_actions() {
  const partition::StageReplica here = session_.grid().here();
  activity().place(context().world.rank(), here.stage, here.replica);
  double planned_step_s = 0;
  for (std::size_t c = 0; c < training_.chunk_times.size(); ++c)
    if (training_.plan.chunks[c].stage == here.stage)
      planned_step_s += training_.chunk_times[c].total() * training_.plan.micro_batches;
  training_step_->watch([this, planned_step_s](const partition::Action& action, Moment moment) {
    if (moment == Moment::ends) return activity().end_action();
    if (action.kind == partition::ActionKind::step)
      return activity().begin("step", 0, -1, planned_step_s);
    activity().begin(partition::name_of(action.kind), action.micro_batch, action.chunk,
                     training_.chunk_times[action.chunk].of(action.kind));
  });
  training_step_->watch_waits([this, here](int stage, Moment moment) {
    if (moment == Moment::ends) return activity().go_on();
    activity().wait_for(training_.plan.ranks[stage][here.replica]);
  });
}

// Restores weights, running statistics and optimizer slots, then the clock, the epoch and the loss
// scale. The utterances of an epoch follow from the recipe, so a checkpoint has only the epoch's
// number and the step within it. know() counts on from there without forming earlier epochs. If the
// data have changed, epochs begin anew, with the one that plan_training() has shared.
void TrainingRun::restore(const Checkpoint& checkpoint) {
  const TrainingState& saved = checkpoint.state();
  saving_.restore(checkpoint, true, were_frozen(training_.prepared, saved));
  clock_ = {saved.step, saved.optimizer_steps};
  if (training_.prepared.data_origin == saved.data_origin) {
    training_.steps.know(saved.epoch, saved.step - saved.step_in_epoch);
    if (saved.epoch != training_.steps.options().start.epoch)  // all ranks have this epoch
      share_epoch(training_.prepared.context.world, training_.steps, saved.epoch);
  }
  if (!changes_section(training_.prepared, "precision."))  // another scaling rule starts afresh
    training_step_->loss_scale().restore(saved.loss_scale);
  training_.prepared.changes = all_changes(training_.prepared);
  checkpoints_->resume(saved.step, checkpoint.folder());
  if (mirror_) mirror_->offer(checkpoint.folder());  // an earlier run may not have got so far
  announced_ = saved.step;
  log_.summary().last_step.step = saved.step;
}

// Rank 0 alone looks for the best checkpoint. Its answer is broadcast, since all ranks must later
// agree whether a validation beats it.
void TrainingRun::recall_validations(const TrainingState& saved) {
  const bool stored = context().leads() && restore_best(training_.prepared.output, saved);
  for (const std::string& note :
       {checkpoints_->recall_best(saved, comm::answer_from_rank_0(context().world, stored)),
        early_stopping_.recall(saved)})
    if (!note.empty()) context().note(note);
}

/// Opens the files of metrics and reports the beginning. The broadcast at its end also lets all
/// ranks know that the output folder is ready. Whether the checkpoint's step was validated says the
/// checkpoint, or metrics.jsonl where a checkpoint of an older penstock does not.
void TrainingRun::begin() {
  const partition::Plan& plan = training_.plan;
  TrainingSummary& summary = log_.summary();
  summary.parameters = parameter_count(training_.prepared.sequence);
  summary.utterances = static_cast<std::int64_t>(training_.prepared.corpus.size());
  const std::optional<bool> validated = early_stopping_.has_validated(clock_.step);
  const bool due =
      clock_.step > 0 && clock_.step < end_step() && validation_due_before(clock_.step);
  if (context().leads()) {
    log_.open(training_.prepared.output, {clock_.step, !due || validated.value_or(true)}, config());
    if (const std::string& how = session_.device().how; !how.empty()) context().note(how);
    context().note(fmt::format("{} a rank; {} × {}, {}; {} parameters; {}",
                               session_.backend().description(), counted(plan.stages(), "stage"),
                               counted(plan.replicas(), "replica"), counted(plan.lanes, "lane"),
                               summary.parameters, counted(summary.utterances, "utterance")));
    if (context().observer.begin) context().observer.begin(clock_.step, end_step());
  }
  if (context().stop_asked) context().stop_asked();  // requests are noticed from now on
  const bool missed = context().leads() && due && !validated.value_or(log_.validated());
  missed_ = comm::answer_from_rank_0(context().world, missed);
  checkpoints_->restart_clock();
}

void TrainingRun::announce_ahead() {
  const std::int64_t until = std::min(clock_.step + 1 + kStepsAhead, end_step());
  for (; announced_ < until; ++announced_) loader_->announce(training_.steps.at(announced_));
}

// Every rank derives its micro-batches from the recipe, without a message. run() returns the steps
// on which all ranks have agreed. Without post-validation that is this step. With it, an optimistic
// step is agreed on during the next one. So the first such step returns none, and a step that waits
// for its own norm after one returns two. heard_ is emptied first, so that no notice is heard
// twice.
void TrainingRun::step() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  heard_ = {};
  activity().enter(Phase::step, clock_.step, end_step());
  const StepBatches batches = training_.steps.at(clock_.step);
  StepWork work = loader_->work(batches);
  if (loader_->reads()) announce_ahead();
  StepReport& report = log_.add_step();
  report.epoch = batches.epoch;
  report.utterances = batches.utterances;
  report.audio_seconds = audio_seconds(batches, config().features.sample_rate);
  const std::optional<StepWork> next = next_to_read();
  const auto agreed =
      training_step_->run(std::move(work), loader_->reader(), clock_, next ? &*next : nullptr);
  report.step_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  activity().end_step(clock_.step);
  for (const StepReport& result : agreed) record(result);
}

/// Returns the next step if its features may be copied to a device before this step ends. They may
/// not across epochs, since failures of audio are counted per epoch, nor across a validation, which
/// reads its own.
std::optional<StepWork> TrainingRun::next_to_read() {
  const std::int64_t next = clock_.step + 1;
  if (!loader_->reads() || session_.backend().kind() == layers::DeviceKind::cpu ||
      next >= end_step() || begins_epoch(next) || validation_due_before(next))
    return {};
  return loader_->work(training_.steps.at(next));
}

void TrainingRun::flush() {
  if (const auto report = training_step_->flush(clock_)) record(*report);
}

// Takes the result of an agreed step, which is the same on all ranks. So if a check throws, it
// throws on every rank after the same step. The log comes first: metrics.jsonl then ends with the
// step that ended the run.
void TrainingRun::record(const StepReport& result) {
  const StepReport report = log_.record(result);
  heard_ = report.notices;
  failed_audio_.check(context().world, report.epoch, report.failed_utterances,
                      [this] { return loader_->failures(); });
  skipped_.count(report);
  log_.summary().skipped = skipped_.total();
}

bool TrainingRun::begins_epoch(std::int64_t step) const {
  const DataOrigin& origin = training_.prepared.data_origin;
  const bool goes_on = step == origin.step && origin.micro_batch > 0;  // within an epoch
  return !goes_on && training_.steps.at(step).step_in_epoch == 0;
}

// Validations come after every validate_every steps, or after each epoch if that is 0, and at the
// end of the run. A negative validate_every means none at all.
bool TrainingRun::validation_due_before(std::int64_t step) const {
  const std::int64_t every = config().trainer.validate_every;
  if (training_.prepared.validation.lengths.empty() || every < 0) return false;
  return step >= end_step() || (every == 0 ? begins_epoch(step) : step % every == 0);
}

// Validates, and saves the model if it is the best so far. With trainer.ema, the moving averages
// are validated in place of the weights, since they are the model that the checkpoint stands for:
// see model_tensor(). The report is the same on all ranks, so they agree on that, and on an early
// end. It is counted before any save, so that a checkpoint of this step knows of it. settle_best()
// waits for a best checkpoint that is being written: if that fails, the one before it is what the
// report must beat.
void TrainingRun::validate() {
  flush();
  activity().enter(Phase::validation, clock_.step, end_step());
  const PreparedTraining& prepared = training_.prepared;
  if (prepared.slots.averages) training_step_->exchange_averages();
  EvaluationReport report = run_validation(session_, prepared);
  if (prepared.slots.averages) training_step_->exchange_averages();
  report.step = clock_.step;
  log_.record(report);
  early_stopping_.count(report);
  record_early_end();
  checkpoints_->settle_best(!finished());
  const bool skipped = log_.summary().last_step.skipped;  // see checkpoint_due()
  if (skipped || !checkpoints_->best().beaten_by(report)) return;
  await_save();
  checkpoints_->set_best(report);
  save(checkpoints_->best().mark());
}

/// Records an early end: at its validation, so that the next upload has the line, or when a run has
/// resumed that had ended so.
void TrainingRun::record_early_end() {
  if (!early_stopping_.due() || clock_.step >= end_step()) return;
  if (log_.summary().early_end.empty())
    log_.record(EarlyEnd{clock_.step, early_stopping_.reason()});
}

void TrainingRun::await_save() {
  activity().enter(Phase::save, clock_.step, end_step());
  checkpoints_->wait(!finished());
  activity().enter(Phase::step, clock_.step, end_step());
}

bool TrainingRun::checkpoint_due() {
  if (checkpoints_->holds(clock_.step) || !checkpoint_time()) return false;
  flush();
  return !log_.summary().last_step.skipped;  // divergence must not replace good checkpoints
}

// A checkpoint is due by rank 0's clock, of which the others hear by a notice, or after
// checkpoint_every steps, or after each epoch if that is 0.
bool TrainingRun::checkpoint_time() const {
  const std::int64_t every = config().trainer.checkpoint_every;
  return heard_.due > 0 || (every == 0 ? begins_epoch(clock_.step) : clock_.step % every == 0);
}

// The training step calls this at its end. A request to stop may reach any rank, but the time of a
// checkpoint is rank 0's alone, since clocks differ.
Notices TrainingRun::own_notices() const {
  Notices own;
  own.stop = context().stop_asked && context().stop_asked();
  const double seconds = config().trainer.checkpoint_seconds;
  own.due = context().leads() && seconds > 0 && checkpoints_->due_after(seconds);
  checkpoints_->writer().tell(own);
  return own;
}

// Describes the training between two steps. Epoch and step_in_epoch are those of the next step,
// with which a resumed run begins.
TrainingState TrainingRun::state() const {
  TrainingState state;
  state.step = clock_.step;
  state.optimizer_steps = clock_.optimizer_steps;
  const StepBatches next = training_.steps.at(clock_.step);
  state.epoch = next.epoch;
  state.step_in_epoch = next.step_in_epoch;
  state.seed = config().trainer.seed;
  state.lanes = training_.plan.lanes;
  state.loss_scale = training_step_->loss_scale().state();
  state.corpus_hash = fmt::format("{}", training_.prepared.corpus.hash);
  state.sound_hashes = sound_hashes(training_.prepared.corpus.sounds);
  state.config = configs::flatten(config());
  state.plan_toml = partition::plan_toml(training_.plan);
  state.corrections = training_.prepared.changes;
  state.data_origin = training_.prepared.data_origin;
  checkpoints_->best().write_to(state);
  early_stopping_.write_to(state);
  return state;
}

// The open step is closed first, so that weights, clock and loss scale are those of the same step.
// The notices that were heard belong to an earlier save and would advance the new one. Without a
// copy of the state, no step may change the weights until the shards are written.
void TrainingRun::save(const std::optional<BestCheckpoint>& best) {
  flush();
  await_save();
  heard_ = {};
  activity().enter(Phase::save, clock_.step, end_step());
  checkpoints_->begin(state(), best);
  activity().enter(Phase::step, clock_.step, end_step());
  if (!checkpoints_->writer().beside()) await_save();
}

// All ranks hear of a stop request after the same step, whichever rank received it, and end
// together.
void TrainingRun::advance_save() {
  checkpoints_->advance(heard_);
  stopping_ = stopping_ || heard_.stop > 0;
}

// A run whose output is the store itself is done only when its last checkpoint is there. A missing
// copy is no failure of the run. Older checkpoints that were being uploaded may go now.
void TrainingRun::finish_uploads() {
  comm::run_on_rank_0(context().world, [this] {
    if (!mirror_) return;
    if (mirror_->busy())
      context().note("the last checkpoint is being uploaded: the run waits for it");
    const std::string missing = mirror_->finish();
    if (missing.empty()) {
      const comm::Failure untidy = comm::failure_in(
          [this] { keep_newest(training_.prepared.output, config().trainer.keep); });
      if (untidy) context().note(untidy.text);
      return;
    }
    const std::string text =
        fmt::format("{}\nIt stays in {}: the same command with trainer.resume=true uploads it.",
                    missing, training_.prepared.output.string());
    if (is_store_url(config().trainer.output)) throw CheckpointError(text);
    context().note(text);
  });
}

// Saves the last state unless its checkpoint exists or has failed already. Divergence is reported
// last, so that the state is saved all the same.
TrainingSummary TrainingRun::finish() {
  flush();
  record_early_end();
  await_save();
  if (!checkpoints_->holds(clock_.step) && !checkpoints_->failed_at(clock_.step)) {
    save();
    await_save();
  }
  if (!checkpoints_->holds(clock_.step)) throw CheckpointError(checkpoints_->fault());
  finish_uploads();
  activity().enter(Phase::end, clock_.step, end_step());
  TrainingSummary& summary = log_.summary();
  summary.checkpoint = checkpoints_->folder();
  summary.stopped = clock_.step < end_step() && summary.early_end.empty();
  if (training_step_->optimistic() > 0)
    context().note(fmt::format("post-validation rolled back {} of {}",
                               training_step_->rolled_back(),
                               counted(training_step_->optimistic(), "update")));
  skipped_.check_end();
  return summary;
}

}  // namespace penstock::runtime
