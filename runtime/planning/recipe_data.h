#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "configs/config.h"
#include "partition/planner/choose/problem.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/batch/steps.h"
#include "runtime/planning/run_shape.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// The recipe's utterances as steps of any batch division. Thread-safe.
class RecipeData {
 public:
  /// `sequence` holds the recipe's layers and must outlive it. Throws DataError and ConfigError
  /// like training.
  RecipeData(configs::Config config, const partition::LayerSequence& sequence);

  int labels() const { return labels_; }
  const PlannedValidation& validation() const { return validation_; }
  /// Returns the seconds of the longest utterance at the slowest speed.
  double longest() const;
  /// Returns the seconds of audio in data.train, each utterance at its mean speed.
  double epoch_seconds() const;
  StepSequence steps(const configs::Config& config) const;

  /// Returns the first steps or, if `first_steps` is 0, evenly spaced steps of the first epoch. The
  /// epoch's last step may be short, so it is sampled only if it is the only one.
  const std::vector<partition::SampledStep>& sample(const partition::BatchDivision& batch,
                                                    int replicas, int first_steps);
  /// Returns bounds of every step for the search, which follow from the options alone. If the data
  /// are less than one step, it looks at the steps: they never have all of their micro-batches, and
  /// some schedules hold more activations for fewer micro-batches.
  const RunShape& bounds(const configs::Config& config);

 private:
  std::vector<partition::SampledStep> make_sample(const partition::BatchDivision& batch,
                                                  int replicas, int first_steps) const;
  bool is_less_than_a_step(const configs::Config& config) const;
  partition::SampledStep sampled_step(const StepBatches& batches,
                                      const std::vector<int>& replica_of) const;

  configs::Config config_;
  const partition::LayerSequence& sequence_;
  int labels_ = 0;
  std::unique_ptr<const Tokenizer> tokenizer_;
  Corpus training_;
  double labels_per_second_ = 0;  // of training_, whose sum takes a pass over all utterances
  PlannedValidation validation_;
  std::mutex mutex_;                                                     // guards the members below
  std::map<std::pair<partition::BatchDivision, int>, RunShape> bounds_;  // with replicas, or 0: any
  std::map<std::pair<partition::BatchDivision, int>, std::vector<partition::SampledStep>> samples_;
};

}  // namespace penstock::runtime
