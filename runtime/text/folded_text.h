#pragma once

#include <string>
#include <string_view>

#include "configs/alphabet.h"

namespace penstock::runtime {

/// The code points of a text in UTF-8 with its case folded, runs of white space as one space, ends
/// trimmed. DataError if not UTF-8.
[[nodiscard]] std::u32string folded_text(std::string_view text, configs::Fold fold);

/// "'é' (U+00E9), '7' (U+0037)": each character once, in the order of its first place.
[[nodiscard]] std::string listed(std::u32string_view characters);

}  // namespace penstock::runtime
