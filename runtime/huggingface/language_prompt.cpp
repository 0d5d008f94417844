#include "runtime/huggingface/language_prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/settings.h"

// A language model hears the language in a few tokens between the frames and the text, and an
// attention decoder in those before the text. transformers writes them by the folder's chat
// template, a program in Jinja, or by the class's own code. All folders of one class have the same
// tokens, so an architecture lists them, and their rows are looked up in the folder's own
// tokenizer.

namespace penstock::runtime {
namespace {

constexpr std::string_view kLanguage = "{}";

/// True for a code such as en, yue or eng_latn. Other special tokens of some vocabularies look like
/// those of languages.
bool is_code(std::string_view name) {
  const bool letters = std::ranges::all_of(
      name, [](char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; });
  return letters &&
         (name.size() <= 3 || name.find('_') != std::string_view::npos || name == "auto");
}

std::string with_language(std::string_view pattern, const std::string& language) {
  std::string token(pattern);
  const std::size_t place = token.find(kLanguage);
  return place == std::string::npos ? token : token.replace(place, kLanguage.size(), language);
}

/// Returns the languages for which a vocabulary has a token, which is none of the prompt's others.
std::vector<std::string> languages_of(std::string_view pattern, const Vocabulary& vocabulary,
                                      const std::vector<std::string_view>& prompt) {
  const std::size_t place = pattern.find(kLanguage);
  const std::string_view before = pattern.substr(0, place);
  const std::string_view after = pattern.substr(place + kLanguage.size());
  std::vector<std::string> languages;
  for (const std::string& token : vocabulary.tokens)
    if (token.size() > before.size() + after.size() && token.starts_with(before) &&
        token.ends_with(after))
      languages.push_back(token.substr(before.size(), token.size() - before.size() - after.size()));
  std::erase_if(languages, [&](const std::string& name) {
    return !is_code(name) ||
           std::ranges::find(prompt, with_language(pattern, name)) != prompt.end();
  });
  return languages;
}

std::optional<int> find_row(const Vocabulary& vocabulary, const std::string& token) {
  const auto found = std::ranges::find(vocabulary.tokens, token);
  if (found == vocabulary.tokens.end()) return std::nullopt;
  return static_cast<int>(found - vocabulary.tokens.begin());
}

/// True if the vocabulary has no token for a language, or if generation_config.json says that the
/// model knows one.
bool knows_one_language(const Architecture& architecture, const Vocabulary& vocabulary,
                        const std::filesystem::path& folder) {
  if (std::ranges::all_of(architecture.language_prompt, [&](std::string_view pattern) {
        return pattern.find(kLanguage) == std::string_view::npos ||
               languages_of(pattern, vocabulary, architecture.language_prompt).empty();
      }))
    return true;
  const auto file = folder / kGenerationConfig;
  if (!is_there(file)) return false;
  const Settings settings = read_settings(file);
  const auto found = settings.find("is_multilingual");
  return found != settings.end() && found->second == "false";
}

/// `known` are the languages that the folder has.
[[noreturn]] void throw_unknown(std::string_view pattern, const std::string& token,
                                std::vector<std::string> known,
                                const std::filesystem::path& folder) {
  constexpr std::size_t kShown = 8;
  if (pattern.find(kLanguage) == std::string_view::npos)
    throw_fault(folder / kTokenizer,
                fmt::format("has no row for '{}', a token of the prompt: save the tokenizer of the "
                            "model into the folder, or, of a language model, leave --language out",
                            token));
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

int label_of_row(int row, std::int64_t blank) {
  if (row == blank) return 0;
  return row < blank ? row + 1 : row;
}

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
    std::vector<std::string> known;
    if (token != pattern) known = languages_of(pattern, vocabulary, tokens);
    const bool unknown = token != pattern && std::ranges::find(known, small) == known.end();
    if (!row || unknown) throw_unknown(pattern, token, std::move(known), folder);
    rows.push_back(*row);
  }
  return rows;
}

std::pair<std::string, std::vector<int>> choose_prompt(const Architecture& architecture,
                                                       const Vocabulary& vocabulary,
                                                       const std::string& language,
                                                       const std::filesystem::path& folder) {
  if (!architecture.plain_prompt.empty() && knows_one_language(architecture, vocabulary, folder)) {
    if (!language.empty())
      throw_fault(folder, fmt::format("is of a model that knows one language, and no prompt names "
                                      "it: leave out --language {}",
                                      language));
    return {"", language_prompt(architecture.plain_prompt, vocabulary, "", folder)};
  }
  const std::string chosen =
      language.empty() ? std::string(architecture.default_language) : language;
  if (chosen.empty()) return {};
  return {chosen, language_prompt(architecture.language_prompt, vocabulary, chosen, folder)};
}

void set_text_ends(const Architecture& architecture, const std::vector<int>& rows,
                   std::int64_t blank, layers::DecoderOptions& decoder) {
  decoder.prompt.clear();
  for (const int row : rows) decoder.prompt.push_back(label_of_row(row, blank));
  if (architecture.decoder != "attention") return;
  decoder.bos = decoder.prompt.back();
  decoder.prompt.pop_back();
  decoder.eos = 0;
}

// No shape depends on an utterance's language, so all prompts are equally long.
void set_languages(const std::vector<LanguageDecoder>& languages,
                   const std::filesystem::path& folder, layers::DecoderOptions& decoder) {
  std::vector<std::string> others;
  for (const auto& [name, own] : languages) {
    if (own.prompt.size() != decoder.prompt.size() || own.bos != decoder.bos)
      others.push_back(fmt::format("{} ({})", name, own.prompt.size()));
    decoder.languages.push_back(name);
    decoder.prompts.insert(decoder.prompts.end(), own.prompt.begin(), own.prompt.end());
  }
  if (!others.empty())
    throw_fault(folder, fmt::format("has prompts of other numbers of tokens than the usual one of "
                                    "{}, or with another last token: leave out of --languages {}",
                                    decoder.prompt.size(), fmt::join(others, ", ")));
}

}  // namespace penstock::runtime
