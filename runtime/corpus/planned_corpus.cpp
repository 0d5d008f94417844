#include "runtime/corpus/planned_corpus.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/corpus/corpora.h"

namespace penstock::runtime {

Corpus planned_corpus(const configs::Config& config, const partition::LayerSequence& sequence,
                      const Tokenizer& tokenizer, CorpusUse use) {
  const configs::DataConfig& data = config.data;
  CorpusOptions options = corpus_options(
      config, sequence, use == CorpusUse::training ? data.train : data.validation, use);
  if (!std::filesystem::is_directory(options.output)) options.output.clear();
  return load_corpus(options, tokenizer);
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
