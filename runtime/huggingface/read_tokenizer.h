#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// The SentencePiece model that a folder's tokenizer.json is: it gives a text whose runs of spaces
/// are one, and which has none at its ends, the same pieces, and pieces the same text. Its pieces
/// are the vocabulary's tokens but the blank's, in their order. CheckpointError names what of the
/// file no SentencePiece model can say.
[[nodiscard]] ModelProto model_of_tokenizer(const std::filesystem::path& folder,
                                            const Vocabulary& vocabulary, std::int64_t blank);

}  // namespace penstock::runtime
