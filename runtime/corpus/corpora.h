#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/corpus/corpus.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Returns the options with which `config` reads the corpus of `manifest`. `sequence` must outlive
/// the result.
[[nodiscard]] CorpusOptions corpus_options(const configs::Config& config,
                                           const partition::LayerSequence& sequence,
                                           const std::string& manifest, CorpusUse use);

/// Returns the ranks that read the corpora of a recipe. Audio is read by the first stage. Texts are
/// read by the last one, whose loss is usually the only layer that reads labels. If the schedule is
/// yet to be found, its last chunk may lie on the first stage, which then reads texts too. If an
/// earlier layer of `sequence` reads labels, or has an auxiliary loss, all ranks read texts: it may
/// lie anywhere, and shapes of layers after a reader depend on the numbers of labels. Throws
/// ConfigError like read_plan().
[[nodiscard]] CorpusReaders corpus_readers(const configs::Config& config,
                                           const partition::LayerSequence& sequence,
                                           const partition::PlannedModel& model);

/// Throws ConfigError if data.train names no manifest.
void check_training_manifest(const configs::Config& config);

/// Throws ConfigError if [features] does not yield the channels that [model] takes.
void check_features(const configs::Config& config);

/// Throws ConfigError if the class that ends a language model's texts is a character of them.
void check_end_of_text(const configs::Config& config);
/// The same of any tokenizer: the class must add nothing to a text.
void check_end_of_text(const configs::Config& config, const Tokenizer& tokenizer);

/// Loads the corpus of data.train or data.validation, depending on `use`, for planning only. Throws
/// like load_corpus().
[[nodiscard]] Corpus planned_corpus(const configs::Config& config,
                                    const partition::LayerSequence& sequence,
                                    const Tokenizer& tokenizer, CorpusUse use);

/// The validation set, as far as a plan needs it.
struct PlannedValidation {
  Lengths lengths = {};          // empty: no validation
  std::int64_t most_labels = 0;  // maximum over the utterances
  std::string not_counted = {};  // for people: set if data.validation is missing here
};

/// Returns the lengths of data.validation. A plan may be made on another machine than the run's. If
/// one of its manifests is missing here, the plan is made without all of them. Otherwise throws
/// like load_corpus().
[[nodiscard]] PlannedValidation planned_validation(const configs::Config& config,
                                                   const partition::LayerSequence& sequence,
                                                   const Tokenizer& tokenizer);

}  // namespace penstock::runtime
