#include "runtime/huggingface/language_prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"

// A language model hears the language in a few tokens between the frames and the text. transformers
// writes them by the folder's chat template, a program in Jinja. All templates of one class write
// the same tokens, so an architecture lists them, and their rows are looked up in the folder's own
// tokenizer.

namespace penstock::runtime {
namespace {

constexpr std::string_view kLanguage = "{}";

/// Returns the languages for which a vocabulary has a token.
std::vector<std::string> languages_of(std::string_view pattern, const Vocabulary& vocabulary) {
  const std::size_t place = pattern.find(kLanguage);
  const std::string_view before = pattern.substr(0, place);
  const std::string_view after = pattern.substr(place + kLanguage.size());
  std::vector<std::string> languages;
  for (const std::string& token : vocabulary.tokens)
    if (token.size() > before.size() + after.size() && token.starts_with(before) &&
        token.ends_with(after))
      languages.push_back(token.substr(before.size(), token.size() - before.size() - after.size()));
  return languages;
}

std::string with_language(std::string_view pattern, const std::string& language) {
  std::string token(pattern);
  const std::size_t place = token.find(kLanguage);
  return place == std::string::npos ? token : token.replace(place, kLanguage.size(), language);
}

std::optional<int> find_row(const Vocabulary& vocabulary, const std::string& token) {
  const auto found = std::ranges::find(vocabulary.tokens, token);
  if (found == vocabulary.tokens.end()) return std::nullopt;
  return static_cast<int>(found - vocabulary.tokens.begin());
}

[[noreturn]] void throw_unknown(std::string_view pattern, const std::string& token,
                                const Vocabulary& vocabulary, const std::filesystem::path& folder) {
  constexpr std::size_t kShown = 8;
  if (pattern.find(kLanguage) == std::string_view::npos)
    throw_fault(folder / kTokenizer,
                fmt::format("has no row for '{}', which comes before a language: leave --language "
                            "out for a model without a prompt",
                            token));
  std::vector<std::string> known = languages_of(pattern, vocabulary);
  const std::size_t count = known.size();
  if (count > kShown) known.resize(kShown);
  throw_fault(folder / kTokenizer,
              count == 0 ? fmt::format("has no row for '{}', nor for any other language: leave "
                                       "--language out for a model without a prompt",
                                       token)
                         : fmt::format("has no row for '{}': choose with --language among the {} "
                                       "that it has, such as {}",
                                       token, count, fmt::join(known, " ")));
}

}  // namespace

std::vector<int> language_prompt(const std::vector<std::string_view>& tokens,
                                 const Vocabulary& vocabulary, const std::string& language,
                                 const std::filesystem::path& folder) {
  std::string small = language;
  std::ranges::transform(small, small.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  std::vector<int> rows;
  for (const std::string_view pattern : tokens) {
    const std::string token = with_language(pattern, small);
    const std::optional<int> row = find_row(vocabulary, token);
    if (!row) throw_unknown(pattern, token, vocabulary, folder);
    rows.push_back(*row);
  }
  return rows;
}

}  // namespace penstock::runtime
