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

/// Returns the text with U+FFFD for each longest part that begins a character and does not end it,
/// and for each other byte that is not UTF-8, as Python's errors="replace" does.
[[nodiscard]] std::string repaired_utf8(std::string_view text);

/// Returns true for white space, as Python's str.isspace() defines it.
[[nodiscard]] bool is_space(char32_t character);

/// Returns true for Unicode's White_Space, which is \s in regular expressions: is_space() without
/// the separators U+001C to U+001F.
[[nodiscard]] bool is_white_space(char32_t character);

/// Returns the text in Unicode's normalisation form C: a letter and the marks after it become one
/// character, if there is such a one. `compatible` selects form KC, in which ligatures, wide and
/// raised forms become plain characters as well. Code points outside Unicode stay.
[[nodiscard]] std::u32string composed(std::u32string_view text, bool compatible);

/// Returns the letter of the other case, in any script; other characters stay. If Unicode maps a
/// letter to several, such as ß to SS, the result is the single one: ẞ.
[[nodiscard]] char32_t lower_case(char32_t character);
[[nodiscard]] char32_t upper_case(char32_t character);

/// Returns true for characters of Unicode's category L, and of category N.
[[nodiscard]] bool is_letter(char32_t character);
[[nodiscard]] bool is_number(char32_t character);

/// Returns true for characters of words: letters, marks that belong to them, and digits.
[[nodiscard]] bool is_of_words(char32_t character);

}  // namespace penstock
