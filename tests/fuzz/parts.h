#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace penstock::test {

/// Removes the part of `bytes` before its first NUL, and returns it. So one input holds the texts
/// of several files.
inline std::string_view take_part(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view part = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return part;
}

/// Removes the first byte of `bytes`, and returns it as a number; 0 if there is none.
inline std::size_t take_byte(std::string_view& bytes) {
  if (bytes.empty()) return 0;
  const auto byte = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return byte;
}

}  // namespace penstock::test
