#include "runtime/huggingface/piece_model.h"

#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/huggingface/text_file.h"
#include "runtime/text/sentence_pieces.h"

namespace penstock::runtime {

std::optional<PieceModel> find_piece_model(const std::filesystem::path& folder,
                                           const Vocabulary& vocabulary, std::int64_t blank) {
  const std::filesystem::path file = folder / kTokenizerFile;
  if (!is_there(file)) return std::nullopt;
  PieceModel found;
  found.text.kind = "sentencepiece";
  found.text.model = std::filesystem::absolute(file).string();
  found.text.fold = "none";
  try {
    const SentencePieces pieces(found.text);
    std::vector<std::string> tokens = vocabulary.tokens;
    tokens.erase(tokens.begin() + blank);
    if (pieces.pieces() != tokens) return std::nullopt;
    found.bytes = pieces.model();
  } catch (const ConfigError& error) {
    throw_fault(file, error.what());
  }
  return found;
}

}  // namespace penstock::runtime
