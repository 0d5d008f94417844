#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Unicode code points of UTF-8 text. DataError if the bytes are not UTF-8 (overlong forms,
/// surrogates and code points above U+10FFFF included), with the place of the first wrong one.
std::u32string from_utf8(std::string_view text);

std::string to_utf8(std::u32string_view text);

/// White space as Python's str.isspace() has it.
bool is_space(char32_t character);

}  // namespace penstock
