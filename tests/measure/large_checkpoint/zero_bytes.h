#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace penstock::test {

inline constexpr std::size_t kPage = 4096;  // of memory, and a block of a file

/// Whether all of at least one byte are zeros.
inline bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace penstock::test
