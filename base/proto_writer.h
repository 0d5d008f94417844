#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// Wire types of Protocol Buffers: the encodings of a field.
enum WireType { wire_varint = 0, wire_eight_bytes = 1, wire_bytes = 2, wire_four_bytes = 5 };

/// Writes a message of Protocol Buffers, field by field, without a generated class. The encoding is
/// at https://protobuf.dev/programming-guides/encoding: each field begins with its number and wire
/// type, and a number is a varint of 7 bits a byte, lowest first. A message is written from its
/// inner messages outwards, since its length precedes it.
class ProtoWriter {
 public:
  /// Adds an integer, a truth value or a constant of an enumeration. A negative one takes 10 bytes.
  void number(int field, std::uint64_t value);
  /// Adds text, bytes or a message.
  void text(int field, std::string_view value);
  /// Adds the beginning of text, bytes or a message whose `bytes` bytes follow elsewhere.
  void begin(int field, std::uint64_t bytes);
  void real(int field, float value);
  void real(int field, double value);

  const std::string& done() const { return text_; }

 private:
  void add(std::uint64_t value);
  void add_tag(int field, WireType type);
  void add_bytes(std::uint64_t bits, int count);

  std::string text_;
};

}  // namespace penstock
