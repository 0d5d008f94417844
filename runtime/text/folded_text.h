#pragma once

#include <string>
#include <string_view>

#include "configs/text_rules.h"

namespace penstock::runtime {

/// Returns the code points of a UTF-8 text after the rules were applied. Runs of white space become
/// one space, and the ends are trimmed. If the rules remove the space, there is none. Throws
/// DataError if the text is not UTF-8.
[[nodiscard]] std::u32string folded_text(std::string_view text, const configs::TextRules& rules);

/// Lists characters as "'é' (U+00E9), '7' (U+0037)": each once, in the order of first occurrence.
[[nodiscard]] std::string listed(std::u32string_view characters);

}  // namespace penstock::runtime
