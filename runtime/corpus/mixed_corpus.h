#pragma once

#include <functional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// The corpora of the manifests of data.train as one, whose ids follow each other in the list's
/// order; `load` gives that of a manifest. One manifest's corpus stays as it is. ConfigError as
/// Mixture.
[[nodiscard]] Corpus mixed_corpus(const configs::DataConfig& data,
                                  const std::function<Corpus(const std::string& manifest)>& load);

/// For people, what an epoch holds: "a.jsonl 12.5 h × 0.4 (25 %), b.jsonl …"; "" of one manifest.
[[nodiscard]] std::string told_mixture(const Corpus& corpus);

}  // namespace penstock::runtime
