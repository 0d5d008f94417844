#include "runtime/huggingface/piece_model.h"

#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/text/sentence_pieces.h"

namespace penstock::runtime {
namespace {

configs::TextConfig text_of_pieces(const std::filesystem::path& file) {
  configs::TextConfig text;
  text.kind = "sentencepiece";
  text.model = std::filesystem::absolute(file).string();
  text.fold = "none";
  return text;
}

}  // namespace

// The pieces are compared, since a folder may have the file of another tokenizer. The blank is left
// out, since SentencePiece does not know it.
std::optional<PieceModel> find_piece_model(const std::filesystem::path& folder,
                                           const Vocabulary& vocabulary, std::int64_t blank) {
  const std::filesystem::path file = folder / kTokenizerFile;
  if (!is_there(file)) return std::nullopt;
  PieceModel found{text_of_pieces(file), {}};
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

// The library loads the model that was made of tokenizer.json, so a model that it would reject is
// found at the import and not at the first training.
PieceModel make_piece_model(const std::filesystem::path& folder, const Vocabulary& vocabulary,
                            std::int64_t blank, const std::filesystem::path& file) {
  PieceModel made{text_of_pieces(file),
                  to_model_bytes(model_of_tokenizer(folder, vocabulary, blank))};
  try {
    const SentencePieces loaded(made.bytes, made.text);
    if (loaded.labels() != static_cast<int>(vocabulary.tokens.size()))
      throw CheckpointError("its tokens are not those of the head");
  } catch (const ConfigError& error) {
    throw CheckpointError(error.what());
  }
  return made;
}

}  // namespace penstock::runtime
