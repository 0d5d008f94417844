#include "runtime/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/text/alphabet.h"
#include "runtime/text/byte_pairs.h"
#include "runtime/text/sentence_pieces.h"

namespace penstock::runtime {

// White space is normalised on the way: runs become one space, and none stands at either end. A
// space is written only before the next character that stays, so characters that are removed leave
// no double space. If ' ' itself is removed, words are joined.
std::u32string folded_text(std::string_view text, const configs::TextRules& rules) {
  const auto removed = [&](char32_t character) {
    return rules.removed.find(character) != std::u32string::npos;
  };
  const bool spaced = !removed(U' ');
  std::u32string out;
  bool space = false;
  for (const char32_t character : configs::normalised_and_folded(from_utf8(text), rules)) {
    if (is_space(character)) {
      space = spaced && !out.empty();
      continue;
    }
    if (removed(character)) continue;
    if (std::exchange(space, false)) out += U' ';
    out += character;
  }
  return out;
}

std::string listed(std::u32string_view characters) {
  std::string list;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const std::u32string_view character = characters.substr(i, 1);
    if (characters.find(character) < i) continue;
    list += fmt::format("{}'{}' (U+{:04X})", list.empty() ? "" : ", ", to_utf8(character),
                        static_cast<std::uint32_t>(character.front()));
  }
  return list;
}

UnknownCharacters::UnknownCharacters(std::string_view where, std::u32string characters)
    : DataError(fmt::format("the transcript has characters {}: {}", where, listed(characters))),
      characters_(std::move(characters)) {}

std::string describe_characters(const std::map<char32_t, std::int64_t>& transcripts,
                                std::size_t max) {
  std::vector<std::pair<char32_t, std::int64_t>> all(transcripts.begin(), transcripts.end());
  std::ranges::stable_sort(all, std::greater(), &std::pair<char32_t, std::int64_t>::second);
  std::string told;
  for (std::size_t i = 0; i < std::min(max, all.size()); ++i)
    told +=
        fmt::format("{}{} in {}", i == 0 ? "" : ", ", listed({&all[i].first, 1}), all[i].second);
  if (all.size() > max)
    told += fmt::format(
        ", and {}", counted(std::ssize(all) - static_cast<std::int64_t>(max), "other", "others"));
  return told;
}

std::unique_ptr<const Tokenizer> make_tokenizer(const configs::TextConfig& config) {
  if (config.kind == "alphabet") return std::make_unique<Alphabet>(config);
  if (config.kind == "sentencepiece") return std::make_unique<SentencePieces>(config);
  if (config.kind == "bpe") return std::make_unique<BytePairs>(config);
  throw ConfigError(
      fmt::format("text.kind is \"{}\"; known are alphabet, sentencepiece, bpe", config.kind));
}

}  // namespace penstock::runtime
