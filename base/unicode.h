#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Unicode's normalisation form C of a text: letters and marks that follow each other as one
/// character where there is one. `compatible`: form KC, in which ligatures, wide and raised forms
/// are plain characters as well. Code points that are none of Unicode's stay.
[[nodiscard]] std::u32string composed(std::u32string_view text, bool compatible);

/// The letter's counterpart of the other case, in any script; another character itself. Where
/// Unicode has several letters for one, such as SS for ß, there is the single one: ẞ.
[[nodiscard]] char32_t lower_case(char32_t character);
[[nodiscard]] char32_t upper_case(char32_t character);

/// Whether words are written with it: a letter, a mark that belongs to one, or a digit.
[[nodiscard]] bool is_of_words(char32_t character);

}  // namespace penstock
