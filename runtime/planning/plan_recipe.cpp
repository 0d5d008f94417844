#include "runtime/planning/plan_recipe.h"

#include "partition/model/build_model.h"
#include "runtime/checkpoint/resume.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/planned_corpus.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {

PlannedRun plan_recipe(const configs::Config& recipe, bool measure) {
  check_features(recipe);
  check_training_manifest(recipe);
  configs::Config config = with_plan_file(recipe);
  const auto saved = state_to_resume(config);
  const TrainingState* const run = saved ? &*saved : nullptr;
  if (saved) check_unchanged(config, *saved);
  config.trainer.lanes = choose_lanes(config, run, [](const std::string&) {});
  config.trainer.order = choose_order(config, run);
  const Alphabet alphabet(config.text);
  const partition::LayerSequence sequence =
      partition::build_model(config.model, alphabet.classes(), config.pipeline);
  const Corpus corpus = planned_corpus(config, sequence, alphabet, CorpusUse::training);
  const StepSequence steps({corpus.lengths, config.data, config.features, config.trainer.seed,
                            config.trainer.lanes, config.trainer.order});
  std::vector<AudioLength> validation;
  if (!config.data.validation.empty())
    validation = planned_corpus(config, sequence, alphabet, CorpusUse::evaluation).lengths;
  const RunShape shape = shape_of_run(config, steps, validation, alphabet.classes());
  if (run == nullptr && wants_order(config))
    config.trainer.order = find_order(sequence, config, shape);
  const auto costs =
      measure ? measured_costs(sequence, config, shape) : computed_costs(sequence, config, shape);
  PlannedRun planned{plan_run(sequence, config, shape, costs), {}};
  planned.estimate = partition::estimate_plan(planned.plan, costs);
  return planned;
}

}  // namespace penstock::runtime
