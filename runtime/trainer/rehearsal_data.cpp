#include "runtime/trainer/rehearsal_data.h"

#include <optional>
#include <utility>

#include "comm/collectives.h"
#include "partition/build_chain.h"
#include "runtime/text/alphabet.h"
#include "runtime/trainer/corpora.h"
#include "runtime/trainer/planned_corpus.h"
#include "runtime/trainer/planning.h"

namespace penstock {
namespace {

Corpus load_in_turn(const Config& config, const Chain& chain, const Alphabet& alphabet,
                    Communicator& world) {
  const auto load = [&] { return planned_corpus(config, chain, alphabet, CorpusUse::training); };
  std::optional<Corpus> corpus;
  if (world.rank() == 0) corpus = load();
  barrier(world);
  return corpus ? std::move(*corpus) : load();
}

}  // namespace

RehearsalData load_rehearsal(const Config& recipe, Communicator& world) {
  check_features(recipe);
  check_training_manifest(recipe);
  Config config = with_plan_file(recipe);
  if (config.trainer.lanes == 0) config.trainer.lanes = config.pipeline.replicas;
  config.data.validation.clear();
  const Alphabet alphabet(config.text);
  Chain chain = build_chain(config.model, alphabet.classes());
  Corpus corpus = load_in_turn(config, chain, alphabet, world);
  StepSequence steps(
      {corpus.lengths, config.data, config.features, config.trainer.seed, config.trainer.lanes});
  RunShape shape = shape_of_run(config, steps, {}, alphabet.classes());
  return {std::move(config), alphabet.classes(), std::move(chain),
          std::move(corpus), std::move(steps),   std::move(shape)};
}

}  // namespace penstock
