#pragma once

#include <cstdint>
#include <string>

#include "runtime/corpus/corpus.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/data/index/index.h"
#include "runtime/data/manifest/faults.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// The utterances of an index that are left out, and why.
struct FilteredUtterances {
  LeftOut left_out;
  std::int64_t too_short = 0, too_long = 0;
  std::int64_t most_labels = 0;  // of an utterance that is used
  std::int64_t all_labels = 0;   // sum over those utterances
  Faults faults;                 // unusable lines, texts and lengths
  BadTexts texts;                // transcripts with unknown characters
  std::uint64_t hash = 0;  // Corpus::hash of the utterances that are used; 0 if there are none
};

/// Checks lengths against data.min_seconds and data.max_seconds, and labels against lengths.
[[nodiscard]] FilteredUtterances filter_utterances(const CorpusOptions& options,
                                                   const UtteranceIndex& index,
                                                   const Tokenizer& tokenizer);

/// Converts the result to a message between ranks. unpack_weighed() restores it.
[[nodiscard]] std::string pack(const FilteredUtterances& weighed);
[[nodiscard]] FilteredUtterances unpack_weighed(std::string message);

}  // namespace penstock::runtime
