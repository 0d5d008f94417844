#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// data.train or data.validation, by use, for planning alone. Errors as load_corpus.
[[nodiscard]] Corpus planned_corpus(const configs::Config& config,
                                    const partition::LayerSequence& sequence,
                                    const Tokenizer& tokenizer, CorpusUse use);

/// What a plan knows of validation.
struct PlannedValidation {
  Lengths lengths = {};          // empty: nothing is validated
  std::string not_counted = {};  // for people, where data.validation is not there; else empty
};

/// The lengths of data.validation. A plan may be made elsewhere than its run: where that manifest
/// is missing, it goes without. Errors otherwise as load_corpus.
[[nodiscard]] PlannedValidation planned_validation(const configs::Config& config,
                                                   const partition::LayerSequence& sequence,
                                                   const Tokenizer& tokenizer);

}  // namespace penstock::runtime
