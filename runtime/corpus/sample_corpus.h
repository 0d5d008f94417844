#pragma once

#include <cstdint>

#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// Returns a sample of a corpus, in its order. The sample depends only on the corpus's size and on
/// `utterances`. Returns the whole corpus if it has no more, or if `utterances` is 0. The sample's
/// hash identifies the corpus and the sample's size.
[[nodiscard]] Corpus sample_corpus(Corpus corpus, std::int64_t utterances);

}  // namespace penstock::runtime
