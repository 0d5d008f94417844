#include "configs/alphabet.h"

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

std::string shown(char32_t character) { return "'" + to_utf8({&character, 1}) + "'"; }

}  // namespace

Fold fold_of(std::string_view name) {
  if (name == "none") return Fold::none;
  if (name == "lower") return Fold::lower;
  if (name == "upper") return Fold::upper;
  throw ConfigError("text.fold is \"" + std::string(name) + "\"; known are lower, upper, none");
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
    throw ConfigError("text.alphabet is not UTF-8 at byte " + std::to_string(*alphabet.wrong_byte));
  if (alphabet.characters.empty()) throw ConfigError("text.alphabet is empty");
  std::set<char32_t> known;
  for (const char32_t c : alphabet.characters) {
    if (c != U' ' && (is_space(c) || is_control(c)))
      throw ConfigError("text.alphabet holds code point " +
                        std::to_string(static_cast<std::uint32_t>(c)) +
                        ": it takes printable characters, of white space ' ' alone");
    if (!known.insert(c).second) throw ConfigError("text.alphabet holds " + shown(c) + " twice");
    if (folded(c, fold) != c)
      throw ConfigError("text.alphabet holds " + shown(c) + ", which text.fold = " + config.fold +
                        " turns into " + shown(folded(c, fold)) + " in every transcript");
  }
  return alphabet.characters;
}

}  // namespace penstock::configs
