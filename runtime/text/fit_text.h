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

/// Settings of [text] that fit the transcripts of a data set.
struct FittedText {
  configs::TextConfig text;
  std::map<char32_t, std::int64_t> characters;  // number of transcripts by written character
  std::int64_t transcripts = 0;
};

/// Changes `from`, which is of kind alphabet, such that every transcript can be encoded:
///
/// - normalise: becomes nfc if letters and their accents are separate code points.
/// - fold: becomes the Unicode form of the same direction if capitals of other scripts than Latin
///   occur. "none" stays.
/// - alphabet: gets letters, marks, digits and the space, and hyphens and apostrophes within words.
///   They are appended to the present characters if the transcripts use at least half of these.
///   Otherwise they replace them, sorted by code point, with the space last.
/// - remove: gets all other characters, in addition to the present ones.
///
/// Makes two passes over the transcripts. Those that are not UTF-8 are left out: no setting fits
/// them, and readers of manifests refuse them.
[[nodiscard]] FittedText fit_text(const EachText& each, const configs::TextConfig& from);

/// Returns the overrides that turn `from` into `text`, quoted for a shell: "text.alphabet='абв '
/// text.fold=unicode-lower text.remove='.,'".
[[nodiscard]] std::string text_overrides(const configs::TextConfig& text,
                                         const configs::TextConfig& from);

}  // namespace penstock::runtime
