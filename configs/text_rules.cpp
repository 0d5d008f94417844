#include "configs/text_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/unicode.h"

// A transcript becomes label characters in a fixed order: normalise, fold, normalise again, remove.
// Folding can take text out of its normalisation form, which is why that runs twice. Removal comes
// last, so text.remove names characters as they are after the other rules; a character that these
// would have changed can't occur there, and is refused rather than ignored.

namespace penstock::configs {
namespace {

/// Named is a value with its name in recipes.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr Named<Fold> kFolds[] = {{"none", Fold::none},
                                  {"lower", Fold::lower},
                                  {"upper", Fold::upper},
                                  {"unicode-lower", Fold::unicode_lower},
                                  {"unicode-upper", Fold::unicode_upper}};
constexpr Named<Normalisation> kForms[] = {
    {"none", Normalisation::none}, {"nfc", Normalisation::nfc}, {"nfkc", Normalisation::nfkc}};

/// Returns the value of that name. ConfigError lists the known names.
template <class Value, std::size_t N>
Value value_of(const char* key, std::string_view name, const Named<Value> (&known)[N]) {
  std::string names;
  for (const Named<Value>& other : known) {
    if (other.name == name) return other.value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", other.name);
  }
  throw ConfigError(fmt::format("{} is \"{}\"; known are {}", key, name, names));
}

template <class Value, std::size_t N>
std::string_view name_in(const Named<Value> (&known)[N], Value value) {
  return std::ranges::find(known, value, &Named<Value>::value)->name;
}

// Capitals of ASCII and Latin-1 lie 32 code points below their small letters.
bool is_capital(char32_t c) {
  return (c >= U'A' && c <= U'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}
bool is_small(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7);
}

std::u32string normalised(std::u32string text, Normalisation form) {
  if (form == Normalisation::none) return text;
  return composed(text, form == Normalisation::nfkc);
}

/// Returns the characters of text.remove, once they are shown to be ones that can occur.
std::u32string removed_characters(const TextConfig& config, const TextRules& rules) {
  DecodedText removed = decode_utf8(config.remove);
  if (removed.wrong_byte)
    throw ConfigError(fmt::format("text.remove is not UTF-8 at byte {}", *removed.wrong_byte));
  for (const char32_t c : removed.characters) {
    if (c != U' ' && is_space(c))
      throw ConfigError(fmt::format(
          "text.remove holds code point {}: of white space it takes ' ' alone, which any is",
          static_cast<std::uint32_t>(c)));
    if (const std::string change = change_of(c, rules); !change.empty())
      throw ConfigError(fmt::format("text.remove holds '{}', which {} before: name what it becomes",
                                    to_utf8({&c, 1}), change));
  }
  return std::move(removed.characters);
}

bool is_control(char32_t c) { return c < U' ' || (c >= 0x7f && c < 0xa0); }

std::string shown(char32_t character) { return fmt::format("'{}'", to_utf8({&character, 1})); }

}  // namespace

TextRules text_rules(const TextConfig& config) {
  TextRules rules{value_of("text.normalise", config.normalise, kForms),
                  value_of("text.fold", config.fold, kFolds),
                  {}};
  rules.removed = removed_characters(config, rules);
  return rules;
}

char32_t folded(char32_t character, Fold fold) {
  switch (fold) {
    case Fold::lower:
      return is_capital(character) ? character + 32 : character;
    case Fold::upper:
      return is_small(character) ? character - 32 : character;
    case Fold::unicode_lower:
      return lower_case(character);
    case Fold::unicode_upper:
      return upper_case(character);
    default:
      return character;
  }
}

std::u32string normalised_and_folded(std::u32string text, const TextRules& rules) {
  text = normalised(std::move(text), rules.form);
  if (rules.fold == Fold::none) return text;
  std::ranges::transform(text, text.begin(), [&](char32_t c) { return folded(c, rules.fold); });
  // Folded text need not be in a normalisation form.
  return normalised(std::move(text), rules.form);
}

// A character is normalised alone here, so combinations with its neighbours do not count.
std::string change_of(char32_t character, const TextRules& rules) {
  const std::u32string alone(1, character);
  if (const std::u32string form = normalised(alone, rules.form); form != alone)
    return fmt::format("text.normalise = {} turns into '{}'", name_in(kForms, rules.form),
                       to_utf8(form));
  if (const char32_t other = folded(character, rules.fold); other != character)
    return fmt::format("text.fold = {} turns into '{}'", name_in(kFolds, rules.fold),
                       to_utf8({&other, 1}));
  return {};
}

// A character that no transcript can have would be a label that is never seen in training, most
// likely by mistake.
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
