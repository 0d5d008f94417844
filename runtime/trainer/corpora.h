#pragma once

#include <functional>
#include <optional>

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/chain.h"
#include "runtime/text/alphabet.h"
#include "runtime/trainer/corpus.h"

namespace penstock {

/// Calls `load` on rank 0 first, so that its faults are found (and caches written) once, then on
/// the others.
Corpus load_in_turn(Communicator& world, const std::function<Corpus()>& load);

/// How `config` describes the corpus of `manifest`; `chain` must outlive the result.
CorpusOptions corpus_options(const Config& config, const Chain& chain, const std::string& manifest,
                             CorpusUse use);

/// The corpus of `manifest` as `config` describes it. DataError as load_corpus; ConfigError if no
/// manifest is named.
Corpus load_corpus_for(const Config& config, const Chain& chain, const Alphabet& alphabet,
                       const std::string& manifest, CorpusUse use);

/// ConfigError if [features] does not make what [model] takes.
void check_features(const Config& config);

}  // namespace penstock
