#include "runtime/huggingface/model_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.h"
#include "base/proto_writer.h"

// A SentencePiece model is a message of Protocol Buffers. The encoding is small enough to read and
// write by hand (base/proto_writer.h). A message is a row of fields. Each begins with a number,
// field << 3 | wire type, and continues by its wire type: a number, a length and so many bytes, or
// 4 or 8 fixed bytes. Numbers are varints: 7 bits a byte, lowest first, with the top bit set in all
// but the last. A message within a message is a field of bytes.
//
// A reader skips fields that it does not know, and every length is compared with what is left,
// since the file may be damaged.

// A model in short, with field numbers:
//
//   1  a piece, repeated: 1 its text, 2 its score, 3 its type
//   2  how it was trained: 3 unigram or BPE, 35 bytes for unknown characters, …
//   3  normalisation: 2 a table of characters, 3 a space before the text, 4 no double spaces, …

namespace penstock::runtime {
namespace {

// Field numbers, from sentencepiece_model.proto.
namespace field {
constexpr int pieces = 1, trainer = 2, normalizer = 3;                    // ModelProto
constexpr int piece = 1, score = 2, type = 3;                             // SentencePiece
constexpr int kind = 3, vocab_size = 4, suffix = 24, fallback = 35;       // TrainerSpec
constexpr int unk_id = 40, unk_piece = 45;                                // TrainerSpec
constexpr int name = 1, charsmap = 2, prefix = 3, extra = 4, escape = 5;  // NormalizerSpec
}  // namespace field

constexpr std::uint64_t kUnigram = 1, kBpe = 2;

/// Reads the fields of a message one after another.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  /// Moves to the next field. Returns false after the last one.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = take_number();
    field_ = static_cast<int>(tag >> 3);
    const auto kind = static_cast<int>(tag & 7);
    number_ = kind == wire_varint ? take_number() : 0;
    if (kind == wire_bytes) {
      text_ = take(take_number());
    } else if (kind == wire_eight_bytes || kind == wire_four_bytes) {
      text_ = take(kind == wire_four_bytes ? 4 : 8);
    } else if (kind != wire_varint) {
      throw CheckpointError(fmt::format("has a field of the unknown kind {}", kind));
    }
    return true;
  }
  int field() const { return field_; }
  std::uint64_t number() const { return number_; }
  std::string_view text() const { return text_; }
  float real() const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(text_.size(), 4); ++i)
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(text_[i])) << 8 * i;
    return std::bit_cast<float>(bits);
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw CheckpointError("ends within a field");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t take_number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto part = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    throw CheckpointError("has a number of more than 64 bits");
  }

  std::string_view rest_, text_;
  int field_ = 0;
  std::uint64_t number_ = 0;
};

Piece parse_piece(std::string_view message) {
  Piece piece;
  for (ProtoReader reader(message); reader.next();) {
    if (reader.field() == field::piece) piece.text = reader.text();
    if (reader.field() == field::score) piece.score = reader.real();
    if (reader.field() == field::type) piece.type = static_cast<PieceType>(reader.number());
  }
  return piece;
}

void parse_trainer(std::string_view message, ModelProto& model) {
  for (ProtoReader reader(message); reader.next();) {
    const std::uint64_t number = reader.number();
    if (reader.field() == field::kind && number != kUnigram && number != kBpe)
      throw CheckpointError("is a model of whole words or characters, not of pieces");
    if (reader.field() == field::kind) model.bpe = number == kBpe;
    if (reader.field() == field::suffix) model.spaces_after_words = number != 0;
    if (reader.field() == field::fallback) model.byte_fallback = number != 0;
  }
}

void parse_normalizer(std::string_view message, ModelProto& model) {
  for (ProtoReader reader(message); reader.next();) {
    if (reader.field() == field::charsmap) model.charsmap = reader.text();
    if (reader.field() == field::prefix) model.dummy_prefix = reader.number() != 0;
    if (reader.field() == field::extra) model.remove_extra_spaces = reader.number() != 0;
    if (reader.field() == field::escape) model.escape_spaces = reader.number() != 0;
  }
}

std::string trainer_bytes(const ModelProto& model) {
  ProtoWriter spec;
  spec.number(field::kind, model.bpe ? kBpe : kUnigram);
  spec.number(field::vocab_size, model.pieces.size());
  spec.number(field::suffix, model.spaces_after_words ? 1 : 0);
  spec.number(field::fallback, model.byte_fallback ? 1 : 0);
  const auto unknown = std::ranges::find(model.pieces, PieceType::unknown, &Piece::type);
  if (unknown != model.pieces.end()) {
    spec.number(field::unk_id, static_cast<std::uint64_t>(unknown - model.pieces.begin()));
    spec.text(field::unk_piece, unknown->text);
  }
  return spec.done();
}

std::string normalizer_bytes(const ModelProto& model) {
  ProtoWriter spec;
  spec.text(field::name, model.charsmap.empty() ? "identity" : "user_defined");
  if (!model.charsmap.empty()) spec.text(field::charsmap, model.charsmap);
  spec.number(field::prefix, model.dummy_prefix ? 1 : 0);
  spec.number(field::extra, model.remove_extra_spaces ? 1 : 0);
  spec.number(field::escape, model.escape_spaces ? 1 : 0);
  return spec.done();
}

}  // namespace

std::string to_model_bytes(const ModelProto& model) {
  ProtoWriter message;
  for (const Piece& piece : model.pieces) {
    ProtoWriter fields;
    fields.text(field::piece, piece.text);
    fields.real(field::score, piece.score);
    fields.number(field::type, static_cast<std::uint64_t>(piece.type));
    message.text(field::pieces, fields.done());
  }
  message.text(field::trainer, trainer_bytes(model));
  message.text(field::normalizer, normalizer_bytes(model));
  return message.done();
}

ModelProto parse_model_bytes(std::string_view bytes) {
  ModelProto model;
  for (ProtoReader reader(bytes); reader.next();) {
    if (reader.field() == field::pieces) model.pieces.push_back(parse_piece(reader.text()));
    if (reader.field() == field::trainer) parse_trainer(reader.text(), model);
    if (reader.field() == field::normalizer) parse_normalizer(reader.text(), model);
  }
  return model;
}

}  // namespace penstock::runtime
