#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/collectives.h"

namespace penstock::runtime {

/// Numbers and texts of any bytes, one after the other: what ranks of a job tell each other.
class Packer {
 public:
  void add(std::int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Takes out what a Packer was given, in the same order. std::out_of_range behind the end.
class Unpacker {
 public:
  explicit Unpacker(std::string bytes) : bytes_(std::move(bytes)) {}

  std::int64_t number() {
    std::int64_t number = 0;
    const std::string taken = bytes_.substr(at_, sizeof number);
    std::memcpy(&number, taken.data(), taken.size());
    at_ += sizeof number;
    return number;
  }
  std::string text() {
    const auto length = static_cast<std::size_t>(number());
    const std::size_t begin = std::exchange(at_, at_ + length);
    return bytes_.substr(begin, length);
  }
  bool empty() const { return at_ >= bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

/// A number of eight bytes that may not be there.
template <class Number>
void pack(const std::optional<Number>& number, Packer& message) {
  message.add(std::int64_t{number.has_value()});
  if (number) message.add(std::bit_cast<std::int64_t>(*number));
}
template <class Number>
std::optional<Number> unpack_optional(Unpacker& from) {
  if (from.number() == 0) return std::nullopt;
  return std::bit_cast<Number>(from.number());
}

/// What every rank packed, in the order of the ranks, on all of them. Every rank calls it.
inline std::string gather_to_all(comm::Communicator& ranks, const Packer& own) {
  std::string all;
  for (const std::string& of_rank : comm::gather(ranks, own.bytes())) all += of_rank;
  return comm::broadcast(ranks, all);
}

}  // namespace penstock::runtime
