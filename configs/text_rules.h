#pragma once

#include <string>
#include <string_view>

#include "configs/config.h"

namespace penstock::configs {

enum class Fold { none, lower, upper, unicode_lower, unicode_upper };
enum class Normalisation { none, nfc, nfkc };

/// What becomes of the characters of transcripts before they are labels.
struct TextRules {
  Normalisation form = Normalisation::none;
  Fold fold = Fold::none;
  std::u32string removed = {};
};

/// What text.normalise, text.fold and text.remove say. ConfigError if a name is unknown, or if
/// text.remove is not UTF-8, or holds white space but ' ' or what the other two make another of.
[[nodiscard]] TextRules text_rules(const TextConfig& config);

/// lower, upper: letters of ASCII and Latin-1 are folded, others (and ß, ÿ) stay.
[[nodiscard]] char32_t folded(char32_t character, Fold fold);

/// The text normalised and folded, and once more normalised.
[[nodiscard]] std::u32string normalised_and_folded(std::u32string text, const TextRules& rules);

/// "text.fold = lower turns into 'é'": what the rules do to a character that it does not stay; else
/// nothing.
[[nodiscard]] std::string change_of(char32_t character, const TextRules& rules);

}  // namespace penstock::configs
