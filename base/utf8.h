#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Unicode code points of a text, up to the first byte that is not UTF-8.
struct DecodedText {
  std::u32string characters;
  /// Place of the first byte that is not UTF-8, if there is one. Overlong forms, surrogates and
  /// code points above U+10FFFF are not UTF-8.
  std::optional<std::size_t> wrong_byte;
};

[[nodiscard]] DecodedText decode_utf8(std::string_view text);

/// Returns the text's code points. DataError with the place of the first byte that is not UTF-8.
std::u32string from_utf8(std::string_view text);

[[nodiscard]] std::string to_utf8(std::u32string_view text);

/// Returns true for white space, as Python's str.isspace() defines it.
[[nodiscard]] bool is_space(char32_t character);

}  // namespace penstock
