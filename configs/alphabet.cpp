#include "configs/alphabet.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>

#include "base/error.h"
#include "base/utf8.h"

namespace penstock::configs {
namespace {

// Capitals of ASCII and Latin-1 lie 32 below their small letters.
bool is_capital(char32_t c) {
  return (c >= U'A' && c <= U'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}
bool is_small(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7);
}

bool is_control(char32_t c) { return c < U' ' || (c >= 0x7f && c < 0xa0); }

std::string shown(char32_t character) { return fmt::format("'{}'", to_utf8({&character, 1})); }

}  // namespace

Fold fold_of(std::string_view name) {
  if (name == "none") return Fold::none;
  if (name == "lower") return Fold::lower;
  if (name == "upper") return Fold::upper;
  throw ConfigError(fmt::format("text.fold is \"{}\"; known are lower, upper, none", name));
}

char32_t folded(char32_t character, Fold fold) {
  if (fold == Fold::lower && is_capital(character)) return character + 32;
  if (fold == Fold::upper && is_small(character)) return character - 32;
  return character;
}

std::u32string alphabet_characters(const TextConfig& config) {
  const Fold fold = fold_of(config.fold);
  const DecodedText alphabet = decode_utf8(config.alphabet);
  if (alphabet.wrong_byte)
    throw ConfigError(fmt::format("text.alphabet is not UTF-8 at byte {}", *alphabet.wrong_byte));
  if (alphabet.characters.empty()) throw ConfigError("text.alphabet is empty");
  std::set<char32_t> known;
  for (const char32_t c : alphabet.characters) {
    if (c != U' ' && (is_space(c) || is_control(c)))
      throw ConfigError(fmt::format(
          "text.alphabet holds code point {}: it takes printable characters, and ' ' as "
          "the only white space",
          static_cast<std::uint32_t>(c)));
    if (!known.insert(c).second)
      throw ConfigError(fmt::format("text.alphabet holds {} twice", shown(c)));
    if (folded(c, fold) != c)
      throw ConfigError(fmt::format(
          "text.alphabet holds {}, which text.fold = {} turns into {} in every transcript",
          shown(c), config.fold, shown(folded(c, fold))));
  }
  return alphabet.characters;
}

}  // namespace penstock::configs
