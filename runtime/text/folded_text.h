#pragma once

#include <string>
#include <string_view>

#include "configs/text_rules.h"

namespace penstock::runtime {

/// The code points of a text in UTF-8 as the rules make them, runs of white space as one space,
/// ends trimmed; no space where the rules remove it. DataError if not UTF-8.
[[nodiscard]] std::u32string folded_text(std::string_view text, const configs::TextRules& rules);

/// "'é' (U+00E9), '7' (U+0037)": each character once, in the order of its first place.
[[nodiscard]] std::string listed(std::u32string_view characters);

}  // namespace penstock::runtime
