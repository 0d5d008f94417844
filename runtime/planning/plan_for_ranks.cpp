#include <vector>

#include "partition/layout/build_model.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/corpus/corpora.h"
#include "runtime/planning/found_schedule.h"
#include "runtime/planning/plan.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {

RankPlan plan_for_ranks(const configs::Config& recipe, bool measure) {
  check_features(recipe);
  check_training_manifest(recipe);
  configs::Config config = with_plan_file(with_saved_tokenizer(recipe));
  const auto saved = state_to_resume(config);
  const TrainingState* const run = saved ? &*saved : nullptr;
  std::vector<Correction> changes;
  if (saved) {
    keep_division(config, *saved, [](const std::string&) {});
    changes = accepted_changes(config, *saved);
  }
  config.trainer.lanes = choose_lanes(config, run, [](const std::string&) {});
  config.trainer.order = choose_order(config, run);
  const auto tokenizer = make_tokenizer(config.text);
  const partition::LayerSequence sequence =
      partition::build_trained_model(config, tokenizer->labels());
  const Corpus corpus = planned_corpus(config, sequence, *tokenizer, CorpusUse::training);
  EpochStart start;
  if (saved) {
    const DataOrigin origin = settle_data(config, *saved, corpus.hash, changes);
    start = {origin.epoch, origin.step, origin.micro_batch};
  }
  const StepSequence steps({corpus.lengths, config.data, config.features, config.trainer.seed,
                            config.trainer.lanes, config.trainer.order, start, corpus.mixture,
                            corpus.most_labels, corpus.labels_per_second()});
  const PlannedValidation validation = planned_validation(config, sequence, *tokenizer);
  const RunShape shape = shape_of_run(config, steps, validation, tokenizer->labels());
  if (run == nullptr && wants_order(config))
    config.trainer.order = find_order(sequence, config, shape);
  const auto costs =
      measure ? measured_costs(sequence, config, shape) : computed_costs(sequence, config, shape);
  RankPlan planned{plan_run(sequence, config, shape, costs), {}, validation.not_counted};
  planned.estimate = partition::estimate_plan(planned.plan, costs);
  return planned;
}

}  // namespace penstock::runtime
