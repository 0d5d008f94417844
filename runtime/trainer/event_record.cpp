#include "runtime/trainer/event_record.h"

#include <array>

#include "base/proto_writer.h"

// An event file is a row of records, and each record a message of Protocol Buffers. The messages
// are event.proto, summary.proto and tensor.proto of TensorFlow; five of their fields draw a curve.
// They are written by hand, since classes that protoc generates would cost every build a compiler
// of messages and a library, for the few lines below. Tests hold them to bytes that TensorBoard's
// own classes made, and to TensorBoard's own reader.
//
// A record has its length and its bytes each with a CRC-32C, so a reader that follows a growing
// file knows a record that is not complete yet. A CRC over bytes that hold CRCs is weak, and so
// each is rotated and added to a constant: it is masked.

namespace penstock::runtime {
namespace {

// Field numbers of the messages.
namespace field {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;  // Event
constexpr int status = 1;                                               // SessionLog
constexpr int value = 1;                                                // Summary
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;      // Summary.Value
constexpr int plugin_data = 1, plugin_name = 1, data_class = 4;         // SummaryMetadata
constexpr int dtype = 1, shape = 2, string_val = 8, dim = 2, size = 1;  // TensorProto
}  // namespace field

constexpr std::uint64_t kStart = 1;        // SessionLog.START
constexpr std::uint64_t kTensorClass = 2;  // DATA_CLASS_TENSOR
constexpr std::uint64_t kString = 7;       // DT_STRING

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // of Castagnoli, lowest bit first
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

/// Returns the remainder of each byte.
constexpr std::array<std::uint32_t, 256> remainders() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + kMaskDelta;
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

ProtoWriter begin_event(EventMoment moment) {
  ProtoWriter event;
  event.real(field::wall_time, moment.seconds);
  if (moment.step != 0) event.number(field::step, static_cast<std::uint64_t>(moment.step));
  return event;
}

std::string text_tensor(std::string_view text) {
  ProtoWriter dim, shape, tensor;
  dim.number(field::size, 1);
  shape.text(field::dim, dim.done());
  tensor.number(field::dtype, kString);
  tensor.text(field::shape, shape.done());
  tensor.text(field::string_val, text);
  return tensor.done();
}

std::string text_metadata() {
  ProtoWriter plugin, metadata;
  plugin.text(field::plugin_name, "text");
  metadata.text(field::plugin_data, plugin.done());
  metadata.number(field::data_class, kTensorClass);
  return metadata.done();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = remainders();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string framed(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(masked_crc(length), 4) + std::string(data) +
         little_endian(masked_crc(data), 4);
}

std::string version_event(double seconds) {
  ProtoWriter event = begin_event({.seconds = seconds});
  event.text(field::file_version, "brain.Event:2");
  return event.done();
}

std::string restart_event(EventMoment moment) {
  ProtoWriter session, event = begin_event(moment);
  session.number(field::status, kStart);
  event.text(field::session_log, session.done());
  return event.done();
}

std::string scalar_event(EventMoment moment, const std::vector<EventScalar>& scalars) {
  ProtoWriter summary, event = begin_event(moment);
  for (const auto& [tag, number] : scalars) {
    ProtoWriter value;
    value.text(field::tag, tag);
    value.real(field::simple_value, static_cast<float>(number));
    summary.text(field::value, value.done());
  }
  event.text(field::summary, summary.done());
  return event.done();
}

std::string text_event(EventMoment moment, std::string_view tag, std::string_view text) {
  ProtoWriter value, summary, event = begin_event(moment);
  value.text(field::tag, tag);
  value.text(field::tensor, text_tensor(text));
  value.text(field::metadata, text_metadata());
  summary.text(field::value, value.done());
  event.text(field::summary, summary.done());
  return event.done();
}

}  // namespace penstock::runtime
