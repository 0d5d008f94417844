#include "runtime/text/tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/text/alphabet.h"
#include "runtime/text/sentence_pieces.h"

namespace penstock::runtime {

std::unique_ptr<const Tokenizer> make_tokenizer(const configs::TextConfig& config) {
  if (config.kind == "alphabet") return std::make_unique<Alphabet>(config);
  if (config.kind == "sentencepiece") return std::make_unique<SentencePieces>(config);
  throw ConfigError(
      fmt::format("text.kind is \"{}\"; known are alphabet, sentencepiece", config.kind));
}

}  // namespace penstock::runtime
