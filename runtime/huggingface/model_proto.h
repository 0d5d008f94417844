#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The numbers of sentencepiece_model.proto.
enum class PieceType { normal = 1, unknown, control, user_defined, unused, byte };

struct Piece {
  std::string text;
  float score = 0;  // of BPE: the higher, the earlier pieces become it
  PieceType type = PieceType::normal;
};

/// What of a SentencePiece model decides how it encodes and decodes.
struct ModelProto {
  std::vector<Piece> pieces;
  bool bpe = false;  // else unigram
  bool byte_fallback = false;
  std::string charsmap;  // precompiled normalisation; empty: none
  bool dummy_prefix = true;
  bool remove_extra_spaces = true;
  bool escape_spaces = true;
  bool spaces_behind_words = false;
};

/// The bytes of a .model file, a message ModelProto of Protocol Buffers.
[[nodiscard]] std::string to_model_bytes(const ModelProto& model);

/// Fields that ModelProto has no place for are passed over. CheckpointError if these are no such
/// bytes, or a model of whole words or characters.
[[nodiscard]] ModelProto parse_model_bytes(std::string_view bytes);

}  // namespace penstock::runtime
