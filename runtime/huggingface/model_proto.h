#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Types of pieces, numbered as in sentencepiece_model.proto.
enum class PieceType { normal = 1, unknown, control, user_defined, unused, byte };

struct Piece {
  std::string text;
  float score = 0;  // log-probability in unigram; merge priority in BPE, higher first
  PieceType type = PieceType::normal;
};

/// The parts of a SentencePiece model that determine how it encodes and decodes.
struct ModelProto {
  std::vector<Piece> pieces;
  bool bpe = false;  // true: BPE; false: unigram
  bool byte_fallback = false;
  std::string charsmap;  // precompiled normalisation; empty: none
  bool dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
  bool spaces_after_words = false;
};

/// Returns the bytes of a .model file, a ModelProto message of Protocol Buffers.
[[nodiscard]] std::string to_model_bytes(const ModelProto& model);

/// Parses a .model file. Fields that ModelProto lacks are ignored. Throws CheckpointError if the
/// bytes are malformed, or if the model consists of whole words or of characters.
[[nodiscard]] ModelProto parse_model_bytes(std::string_view bytes);

}  // namespace penstock::runtime
