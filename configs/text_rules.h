#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"

namespace penstock::configs {

enum class Fold { none, lower, upper, unicode_lower, unicode_upper };
enum class Normalisation { none, nfc, nfkc };

/// Rules that turn the characters of transcripts into those of labels.
struct TextRules {
  Normalisation form = Normalisation::none;
  Fold fold = Fold::none;
  std::u32string removed = {};
};

/// Returns the rules of text.normalise, text.fold and text.remove. ConfigError if a name is
/// unknown, if text.remove is not UTF-8, or if it holds white space other than ' ' or a character
/// that the other two rules change.
[[nodiscard]] TextRules text_rules(const TextConfig& config);

/// Returns the folded character. `lower` and `upper` fold letters of ASCII and Latin-1 and leave
/// others (and ß, ÿ) alone.
[[nodiscard]] char32_t folded(char32_t character, Fold fold);

/// Returns the text normalised, folded, and normalised again.
[[nodiscard]] std::u32string normalised_and_folded(std::u32string text, const TextRules& rules);

/// Returns how the rules change a character, such as "text.fold = lower turns into 'é'", or "" if
/// they don't.
[[nodiscard]] std::string change_of(char32_t character, const TextRules& rules);

/// Returns the characters of text.alphabet, without the blank. ConfigError as from text_rules().
/// Also ConfigError unless each is a printable code point of UTF-8 or ' ', occurs once, and is a
/// character that the text rules leave in transcripts.
std::u32string alphabet_characters(const TextConfig& config);

}  // namespace penstock::configs
