#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

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

}  // namespace penstock
