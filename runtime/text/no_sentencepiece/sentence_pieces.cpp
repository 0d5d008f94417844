#include "runtime/text/sentence_pieces.h"

#include "base/error.h"

class sentencepiece::SentencePieceProcessor {};

namespace penstock::runtime {
namespace {

[[noreturn]] void throw_absent() {
  throw ConfigError(
      "this penstock was built without SentencePiece: build it with PENSTOCK_SENTENCEPIECE=ON, or "
      "use text.kind = \"alphabet\"");
}

}  // namespace

SentencePieces::SentencePieces(const configs::TextConfig&) { throw_absent(); }
SentencePieces::SentencePieces(std::string, const configs::TextConfig&) { throw_absent(); }
SentencePieces::~SentencePieces() = default;

// These are never called, because the constructors throw.
int SentencePieces::labels() const { throw_absent(); }
std::vector<Label> SentencePieces::vocabulary() const { throw_absent(); }
std::string SentencePieces::normalised(std::string_view) const { throw_absent(); }
std::vector<std::int32_t> SentencePieces::encode(std::string_view) const { throw_absent(); }
std::string SentencePieces::decode(std::span<const std::int32_t>) const { throw_absent(); }
std::vector<std::string> SentencePieces::pieces() const { throw_absent(); }

std::string train_pieces(const std::vector<std::string>&, const PieceTraining&) {
  throw ConfigError(
      "this penstock was built without SentencePiece: build it with PENSTOCK_SENTENCEPIECE=ON");
}

}  // namespace penstock::runtime
