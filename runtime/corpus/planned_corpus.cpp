#include "runtime/corpus/planned_corpus.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/corpus/corpora.h"
#include "runtime/corpus/derived_corpus.h"

namespace penstock::runtime {

Corpus planned_corpus(const configs::Config& config, const partition::LayerSequence& sequence,
                      const Tokenizer& tokenizer, CorpusUse use) {
  const auto load = [&](const std::string& manifest) {
    return load_corpus(corpus_options(config, sequence, manifest, use), tokenizer);
  };
  return use == CorpusUse::training ? mixed_corpus(config.data, load)
                                    : load(config.data.validation);
}

PlannedValidation planned_validation(const configs::Config& config,
                                     const partition::LayerSequence& sequence,
                                     const Tokenizer& tokenizer) {
  const std::string& manifest = config.data.validation;
  if (manifest.empty()) return {};
  std::error_code unreadable;
  if (!std::filesystem::exists(manifest, unreadable))
    return {{}, fmt::format("validation: the manifest {} is not here", manifest)};
  return {planned_corpus(config, sequence, tokenizer, CorpusUse::evaluation).lengths, {}};
}

}  // namespace penstock::runtime
