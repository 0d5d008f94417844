#pragma once

#include <functional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

/// Joins the corpora of the manifests in data.train into one, whose ids follow each other in the
/// list's order. `load` loads the corpus of one manifest. A single manifest's corpus is returned
/// unchanged. Throws ConfigError like Mixture.
[[nodiscard]] Corpus mixed_corpus(const configs::DataConfig& data,
                                  const std::function<Corpus(const std::string& manifest)>& load);

/// Describes the contents of an epoch for people: "a.jsonl 12.5 h × 0.4 (25 %), b.jsonl …". Returns
/// "" for a single manifest.
[[nodiscard]] std::string describe_mixture(const Corpus& corpus);

}  // namespace penstock::runtime
