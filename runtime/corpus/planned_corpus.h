#pragma once

#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "runtime/corpus/corpus.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// data.train or data.validation, by use, for planning alone, which makes no folder: what is
/// indexed is kept beside the manifest, or where a run is already. Errors as load_corpus.
[[nodiscard]] Corpus planned_corpus(const configs::Config& config,
                                    const partition::LayerSequence& sequence,
                                    const Tokenizer& tokenizer, CorpusUse use);

}  // namespace penstock::runtime
