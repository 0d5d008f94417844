#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/corpus/corpus.h"

namespace penstock::runtime {

// These functions make a corpus of others: a mixture, a joined one, or a sample.

/// Loads the corpus of one manifest.
using LoadManifest = std::function<Corpus(const std::string& manifest)>;

/// Joins the corpora of the manifests in data.train into one, whose ids follow each other in the
/// list's order. A single manifest's corpus is returned
/// unchanged. Throws ConfigError like Mixture.
[[nodiscard]] Corpus mixed_corpus(const configs::DataConfig& data, const LoadManifest& load);

/// Joins the corpora of some manifests into one that has each utterance once. Ids follow each other
/// in the list's order. A single manifest's corpus is returned unchanged. Weights have no effect.
[[nodiscard]] Corpus joined_corpus(const std::vector<WeightedManifest>& manifests,
                                   const LoadManifest& load);

/// Describes the contents of an epoch for people: "a.jsonl 12.5 h × 0.4 (25 %), b.jsonl …". Returns
/// "" for a single manifest.
[[nodiscard]] std::string describe_mixture(const Corpus& corpus);

/// Returns a sample of a corpus, in its order. The sample depends only on the corpus's size and on
/// `utterances`. Returns the whole corpus if it has no more, or if `utterances` is 0. The sample's
/// hash identifies the corpus and the sample's size.
[[nodiscard]] Corpus sample_corpus(Corpus corpus, std::int64_t utterances);

}  // namespace penstock::runtime
