#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "configs/config.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// A SentencePiece model and the text whose labels its pieces are.
struct PieceModel {
  configs::TextConfig text;
  std::string bytes;
};

/// That of a folder's tokenizer.model. Nothing if there is none, or if its pieces are not the
/// vocabulary's tokens but the blank's, in their order. CheckpointError if it can't be read.
[[nodiscard]] std::optional<PieceModel> find_piece_model(const std::filesystem::path& folder,
                                                         const Vocabulary& vocabulary,
                                                         std::int64_t blank);

/// What the folder's tokenizer.json is, to be written to `file`. CheckpointError, as from
/// model_of_tokenizer(), if it is no such model.
[[nodiscard]] PieceModel make_piece_model(const std::filesystem::path& folder,
                                          const Vocabulary& vocabulary, std::int64_t blank,
                                          const std::filesystem::path& file);

}  // namespace penstock::runtime
