#include "configs/alphabet.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>

#include "base/error.h"
#include "base/utf8.h"

namespace penstock::configs {
namespace {

bool is_control(char32_t c) { return c < U' ' || (c >= 0x7f && c < 0xa0); }

std::string shown(char32_t character) { return fmt::format("'{}'", to_utf8({&character, 1})); }

}  // namespace

std::u32string alphabet_characters(const TextConfig& config) {
  const TextRules rules = text_rules(config);
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
    if (const std::string change = change_of(c, rules); !change.empty())
      throw ConfigError(
          fmt::format("text.alphabet holds {}, which {} in every transcript", shown(c), change));
    if (rules.removed.find(c) != std::u32string::npos)
      throw ConfigError(fmt::format(
          "text.alphabet holds {}, which text.remove takes out of every transcript", shown(c)));
  }
  return alphabet.characters;
}

}  // namespace penstock::configs
