#include "runtime/corpus/planned_corpus.h"

#include "runtime/corpus/corpora.h"

namespace penstock {

Corpus planned_corpus(const Config& config, const LayerSequence& sequence, const Alphabet& alphabet,
                      CorpusUse use) {
  const DataConfig& data = config.data;
  CorpusOptions options = corpus_options(
      config, sequence, use == CorpusUse::training ? data.train : data.validation, use);
  if (!std::filesystem::is_directory(options.output)) options.output.clear();
  return load_corpus(options, alphabet);
}

}  // namespace penstock
