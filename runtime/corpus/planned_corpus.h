#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Loads the corpus of data.train or data.validation, depending on `use`, for planning only. Throws
/// like load_corpus().
[[nodiscard]] Corpus planned_corpus(const configs::Config& config,
                                    const partition::LayerSequence& sequence,
                                    const Tokenizer& tokenizer, CorpusUse use);

/// The validation set, as far as a plan needs it.
struct PlannedValidation {
  Lengths lengths = {};          // empty: no validation
  std::string not_counted = {};  // for people: set if data.validation is missing here
};

/// Returns the lengths of data.validation. A plan may be made on another machine than the run's. If
/// the manifest is missing here, the plan is made without it. Otherwise throws like load_corpus().
[[nodiscard]] PlannedValidation planned_validation(const configs::Config& config,
                                                   const partition::LayerSequence& sequence,
                                                   const Tokenizer& tokenizer);

}  // namespace penstock::runtime
