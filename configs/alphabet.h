#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/text_rules.h"

namespace penstock::configs {

/// The characters of text.alphabet, the blank left out. ConfigError as text_rules(), and unless
/// they are printable code points of UTF-8, no white space but ' ', each once, and all of them such
/// that transcripts keep them.
std::u32string alphabet_characters(const TextConfig& config);

}  // namespace penstock::configs
