#include "runtime/corpus/planned_corpus.h"

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

}  // namespace penstock::runtime
