#include "runtime/text/alphabet.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/unicode.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

// Label 0 is the blank, so character i of the alphabet has label i + 1.
Alphabet::Alphabet(const configs::TextConfig& config)
    : rules_(configs::text_rules(config)), characters_(configs::alphabet_characters(config)) {
  for (const char32_t character : characters_)
    labels_.emplace(character, static_cast<std::int32_t>(labels_.size()) + 1);
}

// A stand-in, which an imported alphabet has for a token such as <unk>, is a character like others.
std::vector<Label> Alphabet::vocabulary() const {
  std::vector<Label> all(1);
  for (const char32_t& character : characters_) {
    const std::string text = to_utf8({&character, 1});
    all.push_back({text, text});
  }
  return all;
}

std::string Alphabet::normalised(std::string_view text) const {
  return to_utf8(folded_text(text, rules_));
}

// All missing characters are collected before the error, so that a user mends the alphabet once.
std::vector<std::int32_t> Alphabet::encode(std::string_view text) const {
  std::vector<std::int32_t> labels;
  std::u32string missing;
  for (const char32_t character : folded_text(text, rules_)) {
    const auto found = labels_.find(character);
    if (found != labels_.end())
      labels.push_back(found->second);
    else
      missing += character;
  }
  if (missing.empty()) return labels;
  throw UnknownCharacters("outside text.alphabet", std::move(missing));
}

std::string Alphabet::decode(std::span<const std::int32_t> labels) const {
  std::u32string text;
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= this->labels())
      throw DataError(fmt::format("label {} is none of the alphabet's {}", label, this->labels()));
    if (label != kNoText) text += characters_[static_cast<std::size_t>(label) - 1];
  }
  return to_utf8(text);
}

}  // namespace penstock::runtime
