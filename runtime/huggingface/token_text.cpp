#include "runtime/huggingface/token_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/unicode.h"
#include "configs/text_rules.h"

// An alphabet of penstock is a text with one character for each label, and vocabularies have tokens
// like <unk> that are none. Each of those gets a character of Unicode's private planes, which no
// transcript contains, so every row of the head keeps its label and labels keep their order. Common
// tokens have fixed stand-ins, from which an export knows their names. Others are numbered by row,
// and their names are lost.
//
// A token that equals an earlier one once it is in lower case gets a stand-in too, since an
// alphabet holds each character once.

namespace penstock::runtime {
namespace {

/// Stand-ins for tokens that most vocabularies have. They are fixed, so an alphabet alone tells
/// which tokens they stand for.
constexpr std::array<std::pair<std::string_view, char32_t>, 5> kKnownTokens{{
    {"<unk>", 0xE000},
    {"<s>", 0xE001},
    {"</s>", 0xE002},
    {"[UNK]", 0xE003},
    {"[PAD]", 0xE004},
}};

/// Stand-ins for other tokens begin here; the token's row is added.
constexpr char32_t kStandIns = 0xF0000;

bool fits_alphabet(char32_t c) {
  const bool control = c < U' ' || (c >= 0x7f && c < 0xa0);
  const bool stands_in = (c >= 0xE000 && c < 0xF900) || c >= kStandIns;
  return !is_space(c) && !control && !stands_in;
}

char32_t small(char32_t c, bool lower_case) {
  return lower_case ? configs::folded(c, configs::Fold::lower) : c;
}

/// Returns the character that a token represents; nothing if it is none.
std::optional<char32_t> character_of(const std::string& token, const Vocabulary& vocabulary) {
  if (token == vocabulary.space) return U' ';
  const std::u32string characters = decode_utf8(token).characters;
  if (characters.size() != 1 || !fits_alphabet(characters[0])) return std::nullopt;
  return small(characters[0], vocabulary.lower_case);
}

char32_t stand_in(const std::string& token, std::size_t row) {
  for (const auto& [known, character] : kKnownTokens)
    if (token == known) return character;
  return kStandIns + static_cast<char32_t>(row);
}

/// Returns a folding that leaves all characters unchanged and changes some others.
std::string fold_of_alphabet(const std::u32string& characters) {
  const auto stays = [&](configs::Fold fold) {
    return std::ranges::all_of(characters,
                               [&](char32_t c) { return configs::folded(c, fold) == c; });
  };
  const bool lower = stays(configs::Fold::lower), upper = stays(configs::Fold::upper);
  if (lower == upper) return "none";
  return lower ? "lower" : "upper";
}

}  // namespace

TokenText text_of_tokens(const Vocabulary& vocabulary, std::int64_t blank) {
  TokenText found;
  std::u32string characters;
  for (std::size_t row = 0; row < vocabulary.tokens.size(); ++row) {
    if (row == static_cast<std::size_t>(blank)) continue;
    const std::string& token = vocabulary.tokens[row];
    const auto character = character_of(token, vocabulary);
    if (character && characters.find(*character) == std::u32string::npos) {
      characters += *character;
    } else {
      characters += stand_in(token, row);
      found.replaced.push_back(token);
    }
  }
  found.text.alphabet = to_utf8(characters);
  found.text.fold = fold_of_alphabet(characters);
  return found;
}

std::vector<std::string> tokens_of_text(const configs::TextConfig& text, const std::string& space) {
  std::vector<std::string> tokens;
  for (const char32_t& character : configs::alphabet_characters(text)) {
    const auto known =
        std::ranges::find(kKnownTokens, character, &std::pair<std::string_view, char32_t>::second);
    if (known != kKnownTokens.end()) {
      tokens.emplace_back(known->first);
    } else if (character == U' ') {
      tokens.push_back(space);
    } else if (character >= kStandIns) {
      tokens.push_back(fmt::format("<{}>", static_cast<std::uint32_t>(character - kStandIns)));
    } else {
      tokens.push_back(to_utf8({&character, 1}));
    }
  }
  return tokens;
}

}  // namespace penstock::runtime
