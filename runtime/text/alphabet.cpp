#include "runtime/text/alphabet.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace penstock::runtime {

Alphabet::Alphabet(const configs::TextConfig& config)
    : fold_(configs::fold_of(config.fold)), characters_(configs::alphabet_characters(config)) {
  for (const char32_t character : characters_)
    labels_.emplace(character, static_cast<std::int32_t>(labels_.size()) + 1);
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

std::u32string Alphabet::normalised_characters(std::string_view text) const {
  std::u32string out;
  bool space = false;
  for (const char32_t character : from_utf8(text)) {
    if (is_space(character)) {
      space = !out.empty();
      continue;
    }
    if (std::exchange(space, false)) out += U' ';
    out += configs::folded(character, fold_);
  }
  return out;
}

}  // namespace penstock::runtime
