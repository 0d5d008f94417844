#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Unicode code points of UTF-8 text, as far as it is UTF-8.
struct DecodedText {
  std::u32string characters;
  /// Place of the first byte that is no part of UTF-8: overlong forms, surrogates and code points
  /// above U+10FFFF included. Nothing if all is well.
  std::optional<std::size_t> wrong_byte;
};

[[nodiscard]] DecodedText decode_utf8(std::string_view text);

/// The text's code points. DataError with the place of the first byte that is not UTF-8, if any.
std::u32string from_utf8(std::string_view text);

[[nodiscard]] std::string to_utf8(std::u32string_view text);

/// White space as Python's str.isspace() has it.
[[nodiscard]] bool is_space(char32_t character);

}  // namespace penstock
