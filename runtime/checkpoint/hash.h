#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// XXH3-128 hash of bytes that are added piece by piece. It does not depend on how they are cut.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(Xxh3&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// Returns 32 hexadecimal digits, most significant first, as xxhsum prints them.
  [[nodiscard]] std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the hash of contiguous bytes.
[[nodiscard]] std::string xxh3_128(std::span<const std::byte> bytes);
[[nodiscard]] std::string xxh3_128(std::string_view text);

}  // namespace penstock::runtime
