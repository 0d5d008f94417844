#include "base/proto_writer.h"

#include <bit>

namespace penstock {

void ProtoWriter::number(int field, std::uint64_t value) {
  add_tag(field, wire_varint);
  add(value);
}

void ProtoWriter::text(int field, std::string_view value) {
  begin(field, value.size());
  text_ += value;
}

void ProtoWriter::begin(int field, std::uint64_t bytes) {
  add_tag(field, wire_bytes);
  add(bytes);
}

void ProtoWriter::real(int field, float value) {
  add_tag(field, wire_four_bytes);
  add_bytes(std::bit_cast<std::uint32_t>(value), 4);
}

void ProtoWriter::real(int field, double value) {
  add_tag(field, wire_eight_bytes);
  add_bytes(std::bit_cast<std::uint64_t>(value), 8);
}

void ProtoWriter::add_tag(int field, WireType type) {
  add(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

void ProtoWriter::add(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
  text_ += static_cast<char>(value);
}

void ProtoWriter::add_bytes(std::uint64_t bits, int count) {
  for (int i = 0; i < count; ++i) text_ += static_cast<char>(bits >> 8 * i & 0xff);
}

}  // namespace penstock
