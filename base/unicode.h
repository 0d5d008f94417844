#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Returns the text in Unicode's normalisation form C: a letter and the marks after it become one
/// character, if there is such a one. `compatible` selects form KC, in which ligatures, wide and
/// raised forms become plain characters as well. Code points outside Unicode stay.
[[nodiscard]] std::u32string composed(std::u32string_view text, bool compatible);

/// Returns the letter of the other case, in any script; other characters stay. If Unicode maps a
/// letter to several, such as ß to SS, the result is the single one: ẞ.
[[nodiscard]] char32_t lower_case(char32_t character);
[[nodiscard]] char32_t upper_case(char32_t character);

/// Returns true for characters of words: letters, marks that belong to them, and digits.
[[nodiscard]] bool is_of_words(char32_t character);

}  // namespace penstock
