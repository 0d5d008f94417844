#pragma once

#include <cstdint>
#include <string>

#include "runtime/corpus/corpus.h"
#include "runtime/corpus/corpus_faults.h"
#include "runtime/data/faults.h"
#include "runtime/data/index.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// Which of an index's utterances do not take part, and why.
struct WeighedUtterances {
  LeftOut left_out;
  std::int64_t too_short = 0, too_long = 0;
  Faults faults;           // of the manifest's other lines, and of texts and lengths
  BadTexts texts;          // besides
  std::uint64_t hash = 0;  // of those that take part, as Corpus has it; 0: none does
};

/// Weighs lengths against data.min_seconds and data.max_seconds, and labels against lengths.
[[nodiscard]] WeighedUtterances weigh_utterances(const CorpusOptions& options,
                                                 const UtteranceIndex& index,
                                                 const Tokenizer& tokenizer);

/// The same as a message between ranks.
[[nodiscard]] std::string pack(const WeighedUtterances& weighed);
[[nodiscard]] WeighedUtterances unpack_weighed(std::string message);

}  // namespace penstock::runtime
