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

namespace penstock::runtime {
namespace {

Corpus load_in_turn(const configs::Config& config, const partition::LayerSequence& sequence,
                    const Alphabet& alphabet, comm::Communicator& world) {
  const auto load = [&] { return planned_corpus(config, sequence, alphabet, CorpusUse::training); };
  std::optional<Corpus> corpus;
  if (world.rank() == 0) corpus = load();
  comm::barrier(world);
  return corpus ? std::move(*corpus) : load();
}

}  // namespace

ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world) {
  check_features(recipe);
  check_training_manifest(recipe);
  configs::Config config = with_plan_file(recipe);
  if (config.trainer.lanes == 0) config.trainer.lanes = config.pipeline.replicas;
  config.data.validation.clear();
  const Alphabet alphabet(config.text);
  partition::LayerSequence sequence =
      partition::build_model(config.model, alphabet.classes(), config.pipeline);
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

}  // namespace penstock::runtime
