#pragma once

#include <cstdint>

#include "runtime/data/faults.h"
#include "runtime/trainer/corpus.h"

namespace penstock {

/// DataError with the faults of a corpus, or, under data.bad_utterances = "skip", how many there
/// are; they are logged where the options say so.
std::int64_t settle(const Faults& faults, const CorpusOptions& options);

}  // namespace penstock
