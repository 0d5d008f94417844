#include "runtime/profiling/profiling_data.h"

#include <optional>
#include <utility>

#include "comm/collectives.h"
#include "partition/model/build_model.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/planned_corpus.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"
#include "runtime/text/alphabet.h"

namespace penstock {
namespace {

Corpus load_in_turn(const Config& config, const LayerSequence& sequence, const Alphabet& alphabet,
                    Communicator& world) {
  const auto load = [&] { return planned_corpus(config, sequence, alphabet, CorpusUse::training); };
  std::optional<Corpus> corpus;
  if (world.rank() == 0) corpus = load();
  barrier(world);
  return corpus ? std::move(*corpus) : load();
}

}  // namespace

ProfilingData load_profiling_data(const Config& recipe, Communicator& world) {
  check_features(recipe);
  check_training_manifest(recipe);
  Config config = with_plan_file(recipe);
  if (config.trainer.lanes == 0) config.trainer.lanes = config.pipeline.replicas;
  config.data.validation.clear();
  const Alphabet alphabet(config.text);
  LayerSequence sequence = build_model(config.model, alphabet.classes());
  Corpus corpus = load_in_turn(config, sequence, alphabet, world);
  const auto steps_of = [&] {
    return StepSequence({corpus.lengths, config.data, config.features, config.trainer.seed,
                         config.trainer.lanes, config.trainer.order});
  };
  RunShape shape = shape_of_run(config, steps_of(), {}, alphabet.classes());
  config.trainer.order = shared_order(world, sequence, config, shape);
  StepSequence steps = steps_of();
  return {std::move(config), alphabet.classes(), std::move(sequence),
          std::move(corpus), std::move(steps),   std::move(shape)};
}

}  // namespace penstock
