#pragma once

#include <cstdint>

#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// So many utterances of a corpus, in its order: always the same ones of the same utterances. All
/// of them where it has no more, or where `utterances` is 0. The sample's hash says which corpus it
/// is of, and how many.
[[nodiscard]] Corpus sample_corpus(Corpus corpus, std::int64_t utterances);

}  // namespace penstock::runtime
