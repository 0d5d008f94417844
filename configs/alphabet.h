#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/text_rules.h"

namespace penstock::configs {

/// Returns the characters of text.alphabet, without the blank. ConfigError as from text_rules().
/// Also ConfigError unless each is a printable code point of UTF-8 or ' ', occurs once, and is a
/// character that the text rules leave in transcripts.
std::u32string alphabet_characters(const TextConfig& config);

}  // namespace penstock::configs
