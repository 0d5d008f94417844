#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// Converts a folder's tokenizer.json to the equivalent SentencePiece model. For a text with single
/// spaces and none at its ends, both yield the same pieces, and for pieces the same text. The
/// model's pieces are the vocabulary's tokens without the blank, in order. Throws CheckpointError
/// that names the part of the file that no SentencePiece model can express.
[[nodiscard]] ModelProto model_of_tokenizer(const std::filesystem::path& folder,
                                            const Vocabulary& vocabulary, std::int64_t blank);

}  // namespace penstock::runtime
