#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "configs/config.h"
#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// A SentencePiece model, and the [text] whose labels are its pieces.
struct PieceModel {
  configs::TextConfig text;
  std::string bytes;
};

/// Returns the model in a folder's tokenizer.model. Returns nothing if the file does not exist, or
/// if its pieces are not the vocabulary's tokens without the blank, in order. Throws
/// CheckpointError if the file can't be read.
[[nodiscard]] std::optional<PieceModel> find_piece_model(const std::filesystem::path& folder,
                                                         const Vocabulary& vocabulary,
                                                         std::int64_t blank);

/// Converts the folder's tokenizer.json to a model, which the caller writes to `file`. Throws
/// CheckpointError like model_of_tokenizer().
[[nodiscard]] PieceModel make_piece_model(const std::filesystem::path& folder,
                                          const Vocabulary& vocabulary, std::int64_t blank,
                                          const std::filesystem::path& file);

/// Converts a folder's tokenizer.json to the equivalent SentencePiece model. For a text with single
/// spaces and none at its ends, both yield the same pieces, and for pieces the same text. The
/// model's pieces are the vocabulary's tokens without the blank, in order. Throws CheckpointError
/// that names the part of the file that no SentencePiece model can express.
[[nodiscard]] ModelProto model_of_tokenizer(const std::filesystem::path& folder,
                                            const Vocabulary& vocabulary, std::int64_t blank);

}  // namespace penstock::runtime
