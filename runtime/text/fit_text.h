#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "configs/config.h"

namespace penstock::runtime {

/// Calls its argument with each transcript of a data set.
using EachText = std::function<void(const std::function<void(std::string_view)>&)>;

/// The [text] that fits the transcripts of a data set.
struct FittedText {
  configs::TextConfig text;
  std::map<char32_t, std::int64_t> characters;  // as they are written: transcripts that have each
  std::int64_t transcripts = 0;
  std::int64_t not_utf8 = 0;  // of them, which nothing fits
};

/// Changes `from`, of kind alphabet, such that every transcript can be encoded:
///
/// - normalise: nfc, where letters and their accents are written apart.
/// - fold: the Unicode form of the same direction, where capitals of other scripts than Latin
///   occur. "none" stays.
/// - alphabet: letters, marks, digits and the space, and hyphens and apostrophes that stand within
///   a word. They are appended to the present ones where the transcripts use at least half of
///   these; else they replace them, by code point, with the space last.
/// - remove: all other characters, added to the present ones.
///
/// Two passes over the transcripts.
[[nodiscard]] FittedText fit_text(const EachText& each, const configs::TextConfig& from);

/// The overrides that turn `from` into `text`, quoted for a shell: "text.alphabet='абв '
/// text.fold=unicode-lower text.remove='.,'".
[[nodiscard]] std::string text_overrides(const configs::TextConfig& text,
                                         const configs::TextConfig& from);

}  // namespace penstock::runtime
