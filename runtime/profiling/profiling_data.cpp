#include "runtime/profiling/profiling_data.h"

#include <optional>
#include <utility>

#include "comm/collectives.h"
#include "partition/layout/trained_model.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/planned_corpus.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {
namespace {

Corpus load_in_turn(const configs::Config& config, const partition::LayerSequence& sequence,
                    const Tokenizer& tokenizer, comm::Communicator& world) {
  const auto load = [&] {
    return planned_corpus(config, sequence, tokenizer, CorpusUse::training);
  };
  std::optional<Corpus> corpus;
  if (world.rank() == 0) corpus = load();
  comm::barrier(world);
  return corpus ? std::move(*corpus) : load();
}

}  // namespace

ProfilingData load_profiling_data(const configs::Config& recipe, comm::Communicator& world) {
  check_features(recipe);
  check_training_manifest(recipe);
  configs::Config config = with_plan_file(with_saved_tokenizer(recipe));
  if (config.trainer.lanes == 0) config.trainer.lanes = config.pipeline.replicas;
  config.data.validation.clear();
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
                         corpus.mixture});
  };
  RunShape shape = shape_of_run(config, steps_of(), {}, tokenizer->labels());
  config.trainer.order = shared_order(world, sequence, config, shape);
  StepSequence steps = steps_of();
  const int labels = tokenizer->labels();
  return {std::move(config), labels,           std::move(sequence), std::move(corpus),
          std::move(steps),  std::move(shape), std::move(tokenizer)};
}

}  // namespace penstock::runtime
