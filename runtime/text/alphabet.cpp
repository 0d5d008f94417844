#include "runtime/text/alphabet.h"

#include <fmt/format.h>

#include <utility>

#include "layers/tensor/error.h"
#include "runtime/text/utf8.h"

namespace penstock {
namespace {

// Capitals of ASCII and Latin-1 lie 32 below their small letters.
bool is_capital(char32_t c) {
  return (c >= U'A' && c <= U'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}
bool is_small(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= 0xe0 && c <= 0xfe && c != 0xf7);
}

std::u32string characters_of(const std::string& alphabet) try {
  return from_utf8(alphabet);
} catch (const DataError& error) {
  throw ConfigError(std::string("text.alphabet: ") + error.what());
}

}  // namespace

Alphabet::Alphabet(const TextConfig& config)
    : fold_(fold_of(config.fold)), characters_(characters_of(config.alphabet)) {
  if (characters_.empty()) throw ConfigError("text.alphabet is empty");
  for (const char32_t character : characters_) {
    const std::string shown = to_utf8({&character, 1});
    if (is_space(character) && character != U' ')
      throw ConfigError("text.alphabet: the only white space can be ' '");
    if (folded(character) != character)
      throw ConfigError("text.alphabet: '" + shown + "' can't occur under text.fold = \"" +
                        config.fold + "\"");
    if (!labels_.emplace(character, static_cast<std::int32_t>(labels_.size()) + 1).second)
      throw ConfigError("text.alphabet: '" + shown + "' occurs twice");
  }
}

std::string Alphabet::normalised(std::string_view text) const {
  return to_utf8(normalised_characters(text));
}

std::vector<std::int32_t> Alphabet::encode(std::string_view text) const {
  std::vector<std::int32_t> labels;
  std::u32string missing;
  for (const char32_t character : normalised_characters(text)) {
    const auto found = labels_.find(character);
    if (found != labels_.end())
      labels.push_back(found->second);
    else if (missing.find(character) == std::u32string::npos)
      missing += character;
  }
  if (missing.empty()) return labels;
  std::string list;
  for (const char32_t& character : missing)
    list += fmt::format("{}'{}' (U+{:04X})", list.empty() ? "" : ", ", to_utf8({&character, 1}),
                        static_cast<std::uint32_t>(character));
  throw DataError("the transcript has characters outside text.alphabet: " + list);
}

std::string Alphabet::decode(std::span<const std::int32_t> labels) const {
  std::u32string text;
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= classes())
      throw DataError(fmt::format("label {} is none of the alphabet's {}", label, classes()));
    if (label != kBlank) text += characters_[static_cast<std::size_t>(label) - 1];
  }
  return to_utf8(text);
}

Alphabet::Fold Alphabet::fold_of(const std::string& name) {
  if (name == "none") return Fold::none;
  if (name == "lower") return Fold::lower;
  if (name == "upper") return Fold::upper;
  throw ConfigError("text.fold is \"" + name + "\"; known are lower, upper, none");
}

char32_t Alphabet::folded(char32_t character) const {
  if (fold_ == Fold::lower && is_capital(character)) return character + 32;
  if (fold_ == Fold::upper && is_small(character)) return character - 32;
  return character;
}

std::u32string Alphabet::normalised_characters(std::string_view text) const {
  std::u32string out;
  bool space = false;
  for (const char32_t character : from_utf8(text)) {
    if (is_space(character)) {
      space = !out.empty();
      continue;
    }
    if (std::exchange(space, false)) out += U' ';
    out += folded(character);
  }
  return out;
}

}  // namespace penstock
