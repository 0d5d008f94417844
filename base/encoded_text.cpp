#include "base/encoded_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns true for characters that mean nothing to a shell, wherever they stand in an argument.
bool is_safe(char c) {
  constexpr std::string_view kSafe = "%+,-./:=@_";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || kSafe.find(c) != std::string_view::npos;
}

}  // namespace

// Three bytes are 24 bits, which are four digits of 6 bits. One or two bytes at the end give two or
// three digits, filled up with "=".
std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t begin = 0; begin < bytes.size(); begin += 3) {
    const std::string_view three = bytes.substr(begin, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < three.size() ? static_cast<unsigned char>(three[i]) : 0);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= three.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    // After digits 2, 3 and 4 of four, 12, 18 and 24 bits have come, of which 4, 2 and 0 belong to
    // the next byte.
    const std::size_t held = 6 * (i % 4 + 1);
    if (i % 4 > 0) bytes += static_cast<char>(bits >> (held % 8) & 0xff);
  }
  return bytes;
}

std::string shell_quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string shell_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, is_safe) ? text : shell_quoted(text);
}

}  // namespace penstock
