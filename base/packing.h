#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

/// Serialises numbers and texts of any bytes, one after the other, for messages between ranks.
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

/// Reads what a Packer wrote, in the same order. std::out_of_range if the bytes end too early, so
/// bytes of unknown origin can be read as well.
class Unpacker {
 public:
  explicit Unpacker(std::string bytes) : bytes_(std::move(bytes)) {}

  std::int64_t number() {
    const std::string taken = take(sizeof(std::int64_t));
    std::int64_t number = 0;
    std::memcpy(&number, taken.data(), sizeof number);
    return number;
  }
  std::string text() { return take(static_cast<std::uint64_t>(number())); }
  bool empty() const { return at_ >= bytes_.size(); }

 private:
  std::string take(std::uint64_t size) {
    if (size > bytes_.size() - at_) throw std::out_of_range("a packed message ends too early");
    const auto length = static_cast<std::size_t>(size);
    return bytes_.substr(std::exchange(at_, at_ + length), length);
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace penstock
