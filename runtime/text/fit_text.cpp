#include "runtime/text/fit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/encoded_text.h"
#include "base/unicode.h"
#include "configs/text_rules.h"
#include "runtime/text/tokenizer.h"

// The settings are found in the order in which the rules apply to a text, because each changes what
// the next one sees. Normalisation and folding follow from the characters as they are written, in
// one pass over the transcripts. The second pass applies both, and every character that comes out
// is sorted: characters of words go to the alphabet, all others are removed. Hyphens and
// apostrophes are undecided by themselves, so they count as characters of words if they once stand
// between two of them.
//
// Present settings are kept where they fit. Characters that the new rules would change are dropped
// from both lists first, since no text could contain them any more.

namespace penstock::runtime {
namespace {

using configs::Fold;
using configs::TextConfig;
using Characters = std::set<char32_t>;

/// True for hyphens and apostrophes, which occur within words of many languages.
bool may_join(char32_t c) { return c == U'\'' || c == U'-' || c == U'\u2019' || c == U'\u2010'; }

/// Statistics of the first pass: the characters as they are written.
class WrittenText {
 public:
  explicit WrittenText(FittedText& fitted) : fitted_(fitted) {}

  void add(std::string_view text) {
    ++fitted_.transcripts;
    const DecodedText decoded = decode_utf8(text);
    if (decoded.wrong_byte) return;
    const std::u32string& all = decoded.characters;
    for (const char32_t c : Characters(all.begin(), all.end())) ++fitted_.characters[c];
    for (std::size_t i = 1; i + 1 < all.size(); ++i)
      if (may_join(all[i]) && is_of_words(all[i - 1]) && is_of_words(all[i + 1]))
        joining_.insert(all[i]);
    apart_ = apart_ || composed(all, false) != all;
  }

  /// True if a letter and its mark are separate code points that NFC composes.
  bool apart() const { return apart_; }
  const Characters& joining() const { return joining_; }

 private:
  FittedText& fitted_;
  Characters joining_;
  bool apart_ = false;
};

/// True if `whole` changes a character that `fold` leaves unchanged.
bool folds_more(Fold whole, Fold fold, const FittedText& fitted) {
  return std::ranges::any_of(fitted.characters, [&](const auto& item) {
    const char32_t c = configs::folded(item.first, fold);
    return configs::folded(c, whole) != c;
  });
}

std::string fitted_fold(const FittedText& fitted) {
  const std::string& fold = fitted.text.fold;
  if (fold == "lower" && folds_more(Fold::unicode_lower, Fold::lower, fitted))
    return "unicode-lower";
  if (fold == "upper" && folds_more(Fold::unicode_upper, Fold::upper, fitted))
    return "unicode-upper";
  return fold;
}

/// Returns the present characters that the rules leave unchanged. White space other than ' ' is
/// dropped too: folding turns it into ' '.
std::u32string unchanged_characters(const std::string& present, const configs::TextRules& rules) {
  std::u32string characters = decode_utf8(present).characters;
  std::erase_if(characters, [&](char32_t c) {
    return !configs::change_of(c, rules).empty() || (c != U' ' && is_space(c));
  });
  return characters;
}

/// Second pass: returns the characters that the rules yield without removal.
Characters folded_characters(const EachText& each, const configs::TextRules& rules) {
  Characters all;
  each([&](std::string_view text) {
    if (decode_utf8(text).wrong_byte) return;
    for (const char32_t c : folded_text(text, rules)) all.insert(c);
  });
  return all;
}

/// The present alphabet is kept, with its order and unused characters, if the texts use at least
/// half of it. Otherwise it is taken to be that of another language.
std::string fitted_alphabet(const Characters& needed, const std::u32string& present) {
  const auto used = std::ranges::count_if(present, [&](char32_t c) { return needed.contains(c); });
  std::u32string alphabet;
  if (2 * used >= std::ssize(present)) alphabet = present;
  for (const char32_t c : needed)
    if (c != U' ' && alphabet.find(c) == std::u32string::npos) alphabet += c;
  if (needed.contains(U' ') && alphabet.find(U' ') == std::u32string::npos) alphabet += U' ';
  return to_utf8(alphabet);
}

}  // namespace

FittedText fit_text(const EachText& each, const TextConfig& from) {
  FittedText fitted{.text = from, .characters = {}};
  WrittenText written(fitted);
  each([&](std::string_view text) { written.add(text); });
  if (from.normalise == "none" && written.apart()) fitted.text.normalise = "nfc";
  fitted.text.fold = fitted_fold(fitted);

  fitted.text.remove.clear();
  const configs::TextRules rules = configs::text_rules(fitted.text);
  std::u32string removed = unchanged_characters(from.remove, rules);
  Characters needed;
  for (const char32_t c : folded_characters(each, rules)) {
    if (removed.find(c) != std::u32string::npos) continue;
    if (c == U' ' || is_of_words(c) || written.joining().contains(c))
      needed.insert(c);
    else
      removed += c;
  }
  fitted.text.remove = to_utf8(removed);
  std::u32string present = unchanged_characters(from.alphabet, rules);
  std::erase_if(present, [&](char32_t c) { return removed.find(c) != std::u32string::npos; });
  fitted.text.alphabet = fitted_alphabet(needed, present);
  return fitted;
}

std::string text_overrides(const TextConfig& text, const TextConfig& from) {
  std::string overrides = "text.alphabet=" + shell_quoted(text.alphabet);
  if (text.normalise != from.normalise) overrides += " text.normalise=" + text.normalise;
  if (text.fold != from.fold) overrides += " text.fold=" + text.fold;
  if (text.remove != from.remove) overrides += " text.remove=" + shell_quoted(text.remove);
  return overrides;
}

}  // namespace penstock::runtime
