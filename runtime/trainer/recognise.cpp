#include "runtime/trainer/recognise.h"

#include <fmt/format.h>

#include <functional>

#include "base/counted.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "configs/flatten.h"
#include "partition/model/trained_model.h"
#include "runtime/checkpoint/open_together.h"
#include "runtime/corpus/corpora.h"
#include "runtime/data/batching.h"
#include "runtime/data/faults.h"
#include "runtime/job/consistency.h"
#include "runtime/job/packing.h"
#include "runtime/planning/planning.h"
#include "runtime/trainer/evaluation.h"
#include "runtime/trainer/saving.h"

namespace penstock::runtime {
namespace {

/// Stages by computed costs: recognition is short, measuring would not pay. The output folder of
/// the training may be anywhere by now; what is indexed is kept with the checkpoint.
configs::Config config_for(const Checkpoint& checkpoint, const Trained& trained, int ranks) {
  configs::Config config =
      configs::unflatten(checkpoint.state().config, checkpoint.folder().string(), trained.families);
  if (const auto tokenizer = checkpoint.tokenizer_file(); !tokenizer.empty())
    config.text.model = tokenizer.string();  // the recipe's may be elsewhere by now, or another
  config.pipeline = {};
  config.pipeline.stages = ranks;
  config.trainer.lanes = 1;
  config.trainer.threads = trained.threads;
  if (!trained.compute.empty()) config.precision.compute = trained.compute;
  config.trainer.output = checkpoint.folder().string();
  return config;
}

/// Every rank is a stage, of a layer at least.
void check_ranks(const comm::Communicator& world, const partition::LayerSequence& sequence) {
  if (world.size() <= sequence.size()) return;
  throw ConfigError(fmt::format(
      "the job has {}, each a stage, but the checkpoint's model has only {}: start it with mpirun "
      "-np {} or fewer",
      counted(world.size(), "rank"), counted(sequence.size(), "layer"), sequence.size()));
}

/// What is recognised.
struct Heard {
  bool texts = false;  // to compare with
  std::function<Corpus(const configs::Config&, const partition::LayerSequence&, const Tokenizer&)>
      load;
  LogitsFile* logits = nullptr;  // as EvaluationOptions::logits
};

Evaluation recognise(const Trained& trained, comm::Communicator& world, const Heard& heard) {
  const Checkpoint checkpoint = open_together(world, trained.checkpoint, trained.verified);
  const configs::Config config = config_for(checkpoint, trained, world.size());
  const auto tokenizer = make_tokenizer(config.text);
  const partition::LayerSequence sequence =
      partition::build_frozen_model(config.model, tokenizer->labels());
  check_ranks(world, sequence);
  const Corpus corpus = heard.load(config, sequence, *tokenizer);

  const RunShape shape = shape_of_recognition(config, corpus.lengths, tokenizer->labels());
  const partition::Plan plan =
      plan_run(sequence, config, shape, recognition_costs(sequence, config, shape, heard.texts));
  Session session(world, {.config = config, .sequence = sequence, .plan = plan});
  return comm::guarded(world.shutdown(), [&] {
    Saving(session.backend(), session.stream(), session.grid(), session.stage(), {})
        .restore(checkpoint, false);
    Evaluation evaluation =
        evaluate(session, corpus, *tokenizer, {config.features, config.data, heard.logits});
    evaluation.report.step = checkpoint.state().step;
    return evaluation;
  });
}

/// DataError that names the recording if it can't be read or resampled, or is too short for the
/// model.
AudioLength usable_length(const std::filesystem::path& recording,
                          const configs::FeatureConfig& features,
                          const partition::LayerSequence& sequence) {
  const AudioLength length = measure_audio(recording);
  try {
    const std::int64_t frames = shape_utterance(0, length, 1, features).frames;
    (void)partition::output_frames(sequence, std::vector<std::int64_t>{frames});
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", recording.string(), error.what()));
  } catch (const ShapeError& too_short) {
    throw DataError(fmt::format("{}: its {:f} s are too short for the model: {}",
                                recording.string(), length.seconds(), too_short.what()));
  }
  return length;
}

/// Lengths of recordings as a message. DataError lists those that can't be used.
std::string measure(const std::vector<std::filesystem::path>& recordings,
                    const configs::FeatureConfig& features,
                    const partition::LayerSequence& sequence) {
  Packer lengths;
  Faults faults;
  for (std::size_t i = 0; i < recordings.size(); ++i) try {
      const AudioLength length = usable_length(recordings[i], features, sequence);
      lengths.add(length.samples);
      lengths.add(std::int64_t{length.rate});
    } catch (const DataError& error) {
      faults.add(fmt::format("recording {}", i + 1), error.what());
    }
  faults.require_none(fmt::format("{} cannot be used", counted(faults.size(), "recording")),
                      "Correct them, or leave them out.");
  return lengths.bytes();
}

/// Recordings without transcripts. The first stage alone reads them.
Corpus corpus_of(const std::vector<std::filesystem::path>& recordings,
                 const configs::FeatureConfig& features, const partition::LayerSequence& sequence,
                 comm::Communicator& world) {
  Unpacker lengths(read_alike(world, {{0}, "recordings"},
                              [&] { return measure(recordings, features, sequence); }));
  std::vector<AudioLength> of_recordings;
  while (!lengths.empty()) {
    AudioLength& length = of_recordings.emplace_back();
    length.samples = lengths.number();
    length.rate = static_cast<int>(lengths.number());
  }
  Corpus corpus;
  corpus.lengths = of_recordings;
  corpus.audio = [recordings, of = corpus.lengths](std::uint64_t id) {
    return AudioSource{recordings.at(id), of[id]};
  };
  return corpus;
}

}  // namespace

EvaluationReport evaluate_checkpoint(const Trained& trained, const TestSet& test,
                                     comm::Communicator& world) {
  if (test.manifest.empty())
    throw ConfigError("the manifest's name is empty: name the utterances to evaluate");
  const auto load = [&](const configs::Config& config, const partition::LayerSequence& sequence,
                        const Tokenizer& tokenizer) {
    CorpusOptions options = corpus_options(config, sequence, test.manifest, CorpusUse::evaluation);
    options.data.bad_utterances = test.skip_bad ? "skip" : "refuse";
    options.advice = "Correct them, or leave them out by --skip-bad.";
    const partition::PlannedModel model = planned_model(sequence, config.model, tokenizer.labels());
    return load_corpus(options, tokenizer, world, corpus_readers(config, model));
  };
  return recognise(trained, world, {true, load, nullptr}).report;
}

std::vector<std::string> transcribe(const Trained& trained,
                                    const std::vector<std::filesystem::path>& recordings,
                                    comm::Communicator& world,
                                    const std::filesystem::path& logits) {
  const auto load = [&](const configs::Config& config, const partition::LayerSequence& sequence,
                        const Tokenizer&) {
    return corpus_of(recordings, config.features, sequence, world);
  };
  LogitsFile kept(recordings.size());
  const bool asked = !logits.empty();
  std::vector<std::string> texts =
      recognise(trained, world, {false, load, asked ? &kept : nullptr}).transcripts;
  if (asked) kept.write(world, logits);
  return texts;
}

}  // namespace penstock::runtime
