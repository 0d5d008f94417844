#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"

namespace penstock::configs {

enum class Fold { none, lower, upper };

/// What text.fold names. ConfigError if it is none of them.
[[nodiscard]] Fold fold_of(std::string_view name);

/// Letters of ASCII and Latin-1 are folded, others (and ß, ÿ) stay.
[[nodiscard]] char32_t folded(char32_t character, Fold fold);

/// The characters of text.alphabet, the blank left out. ConfigError unless they are printable code
/// points of UTF-8, no white space but ' ', each once, and none that text.fold makes another of.
std::u32string alphabet_characters(const TextConfig& config);

}  // namespace penstock::configs
