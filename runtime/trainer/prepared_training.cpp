#include "runtime/trainer/prepared_training.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/quantities.h"
#include "comm/agree.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/incarnation.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/fetch.h"
#include "runtime/checkpoint/remote/remote_output.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/save.h"
#include "runtime/corpus/augment_sounds.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/derived_corpus.h"
#include "runtime/devices/device.h"
#include "runtime/job/consistency.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/planning.h"
#include "runtime/store/store_error.h"
#include "runtime/trainer/saving.h"

namespace penstock::runtime {
namespace {

configs::Config checked(const TrainingTask& task, comm::Communicator& world) {
  check_features(task.recipe);
  check_end_of_text(task.recipe);
  check_training_manifest(task.recipe);
  configs::Config planned = with_plan_file(with_saved_tokenizer(task.recipe));
  if (planned.trainer.scaling != "none" && !planned.trainer.order.empty())
    throw ConfigError(fmt::format(
        "trainer.scaling = {} lets the number of micro-batches change, but the plan {} has an "
        "order for {}: plan another pipeline.schedule than found, or leave trainer.scaling out",
        planned.trainer.scaling, planned.pipeline.plan, planned.data.micro_batches));
  if (!task.alone) check_ranks(planned, world.size());
  require_same_recipe(world, planned);
  return planned;
}

PreparedTraining of_recipe(const configs::Config& recipe, const RunContext& context) {
  std::unique_ptr<const Tokenizer> tokenizer = make_tokenizer(recipe.text);
  check_end_of_text(recipe, *tokenizer);
  partition::LayerSequence sequence = partition::build_trained_model(recipe, tokenizer->labels());
  return {context, recipe, recipe.pipeline, std::move(tokenizer), std::move(sequence)};
}

void note_tokenizer(const PreparedTraining& training, const configs::Config& asked) {
  const std::string& model = training.config.text.model;
  if (model != asked.text.model)
    training.context.note(fmt::format("text.model = {} is missing: the run goes on with {}",
                                      asked.text.model, model));
}

/// Locks the output folder for this run and checks that the disk has space for its checkpoints.
void lock_output(PreparedTraining& training) {
  comm::run_on_rank_0(training.context.world, [&] {
    const std::filesystem::path& output = training.output;
    training.lock = std::make_unique<OutputLock>(output);
    require_incarnation(output, training.context.incarnation);
    probe_output(output);
    remove_dead_saves(output);
    SavedParameters saved;
    for (const SavedParameters& of_layer :
         saved_parameters(training.sequence, compute_type(training.config.precision)))
      saved.add(of_layer);
    const std::uint64_t bytes =
        checkpoint_bytes(saved, training.slots.counts(), slot_format(training.config.optimizer));
    require_disk_space(output, {.bytes = bytes + training.tokenizer->model().size(),
                                .keep = training.config.trainer.keep});
  });
}

/// Checks that the object store takes checkpoints, if the run uploads any. Brings its newest one
/// into the output folder if that holds none as new, so that a run goes on on another machine.
void meet_store(PreparedTraining& training) {
  HttpOptions brief, patient;
  brief.retries.seconds = 5;  // a wrong URL or key is told in seconds
  brief.connect = std::chrono::seconds(5);
  const auto note = [&](const std::string& text) { training.context.note(text); };
  comm::run_on_rank_0(training.context.world, [&] {
    if (!training.remote) return;
    try {
      RemoteRun(*training.remote, brief).probe();
      RemoteRun run(*training.remote, patient);
      if (training.config.trainer.resume)
        fetch_newest(run, training.output, note);
      else
        require_no_checkpoints(run);
    } catch (const StoreError& error) {
      throw CheckpointError(error.what());
    }
  });
}

/// Finds the checkpoint to resume from and adopts its settings. A new run looks for initial weights
/// instead.
void find_checkpoint(PreparedTraining& training) {
  configs::Config& config = training.config;
  const auto note = [&](const std::string& text) { training.context.note(text); };
  training.start = find_start(config, training.context.world, note);
  const TrainingState* const saved = training.start ? &training.start->state() : nullptr;
  if (saved != nullptr) {
    keep_division(config, *saved, note);
    training.changes = accepted_changes(config, *saved);
    note_threads(config, *saved, note);
    note_reduction(config, *saved, note);
  }
  if (!training.start)
    training.init = find_initial_weights(config, *training.tokenizer, training.sequence,
                                         training.context.world, note);
  config.trainer.lanes = choose_lanes(config, saved, note);
  config.trainer.order = choose_order(config, saved);
}

/// Completes the list of changes to a resumed run, once its utterances are known.
void settle_changes(PreparedTraining& training) {
  if (!training.start) return;
  const TrainingState& saved = training.start->state();
  std::vector<Correction>& changes = training.changes;
  const auto sounds = sound_changes(training.config, saved, sound_hashes(training.corpus.sounds));
  changes.insert(changes.end(), sounds.begin(), sounds.end());
  training.data_origin = settle_data(training.config, saved, training.corpus.hash, changes);
  for (const Correction& change : changes) training.context.note(describe(change, training.config));
  const DataOrigin& origin = training.data_origin;
  if (origin != saved.data_origin)
    training.context.note(
        origin.micro_batch > 0
            ? fmt::format("epoch {} goes on there, after {}", origin.epoch,
                          counted(origin.micro_batch, "micro-batch", "micro-batches"))
            : fmt::format("the data begin anew there, with epoch {}", origin.epoch));
}

void work_alone(PreparedTraining& training) {
  configs::Config& config = training.config;
  const int ranks = config.pipeline.stages * config.pipeline.replicas;
  const double limit = config.pipeline.memory_gib;
  config = alone(config);
  if (ranks > 1 && limit > 0)
    training.context.note(
        fmt::format("this process does the work of {} ranks alone: it may use {} × "
                    "pipeline.memory_gib, {:g} GiB",
                    ranks, ranks, config.pipeline.memory_gib));
}

CorpusReaders readers_of(const PreparedTraining& training) {
  const partition::PlannedModel model =
      planned_model(training.sequence, training.config.model, training.tokenizer->labels());
  return corpus_readers(training.config, training.sequence, model);
}

Corpus load(const PreparedTraining& training, const std::string& manifest, CorpusUse use) {
  return load_corpus(corpus_options(training.config, training.sequence, manifest, use),
                     *training.tokenizer, training.context.world, readers_of(training));
}

AugmentSounds load_sounds(const PreparedTraining& training) {
  return load_augment_sounds(
      training.config.augment,
      corpus_options(training.config, training.sequence, {}, CorpusUse::training),
      training.context.world, readers_of(training));
}

}  // namespace

// Quick checks come first: recipe, devices, output folder, checkpoint. Data come last, since
// indexing may take minutes. The folder is locked before a checkpoint is looked for, so that no
// other run removes it meanwhile. settle_changes() waits for the data, whose hash may show a
// change.
PreparedTraining prepare_training(const TrainingTask& task, comm::Communicator& world,
                                  const TrainingObserver& observer) {
  PreparedTraining training = of_recipe(
      checked(task, world), {world, observer, task.stop_asked, task.activity, task.incarnation});
  require_devices(training.config.trainer, world);  // before anything is read, planned or written
  note_tokenizer(training, task.recipe);
  training.slots = training_slots(training.config);
  training.output = local_output(training.config);
  training.remote = remote_output(training.config);
  lock_output(training);
  meet_store(training);
  find_checkpoint(training);
  training.pipeline = training.config.pipeline;
  if (task.alone) work_alone(training);
  const configs::DataConfig& data = training.config.data;
  const auto load_for = [&](CorpusUse use) {
    return [&training, use](const std::string& manifest) { return load(training, manifest, use); };
  };
  training.corpus = mixed_corpus(data, load_for(CorpusUse::training));
  if (const std::string mixture = describe_mixture(training.corpus); !mixture.empty())
    training.context.note("an epoch of data.train: " + mixture);
  training.corpus.sounds = load_sounds(training);
  settle_changes(training);
  if (!data.validation.empty())
    training.validation =
        sample_corpus(joined_corpus(data.validation, load_for(CorpusUse::evaluation)),
                      training.config.trainer.validate_utterances);
  return training;
}

}  // namespace penstock::runtime
