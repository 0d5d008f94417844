#include "runtime/huggingface/vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/text/byte_pairs/model.h"

// Tokens are collected by row from all files that may name some, and then checked as a whole. For
// characters these are vocab.json, added_tokens.json and the decoder of added tokens in
// tokenizer_config.json; for pieces tokenizer.json has all. Files may repeat each other, but two
// names for a row are an error. Tokens beyond the head are set aside, and then the rows must be
// exactly those of the head: a label that stands for the wrong character would not show until
// someone reads transcripts.

// The files, in short:
//
//   vocab.json               {"a": 5, …}, or by language (MMS): {"eng": {"a": 5, …}, …}
//   added_tokens.json        {"<s>": 32, …}
//   tokenizer_config.json    {"word_delimiter_token": "|", "pad_token": "<pad>",
//                             "added_tokens_decoder": {"32": {"content": "<s>"}, …}}
//   tokenizer.json           {"model": {"vocab": {"▁a": 5, …} or [["▁a", -3.2], …]},
//                             "added_tokens": [{"id": 0, "content": "<unk>"}, …]}

namespace penstock::runtime {
namespace {

using TokensByRow = std::map<std::int64_t, std::string>;

/// Calls `use` with the JSON of a file. Throws CheckpointError, which names the file, if parsing or
/// `use` fails.
template <class Use>
void use_json(const std::filesystem::path& file, const Use& use) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(json_text_of_file(file));
  } catch (const nlohmann::json::exception& error) {
    throw_fault(file, fmt::format("can't be read as JSON: {}", error.what()));
  }
  try {
    use(json);
  } catch (const nlohmann::json::exception& error) {
    throw_fault(file, fmt::format("is no tokenizer that penstock reads: {}", error.what()));
  }
}

template <class Use>
void use_json_if_there(const std::filesystem::path& file, const Use& use) {
  if (is_there(file)) use_json(file, use);
}

void add_token(TokensByRow& tokens, std::int64_t row, const std::string& token,
               const std::filesystem::path& file) {
  const auto [at, is_new] = tokens.emplace(row, token);
  if (!is_new && at->second != token)
    throw_fault(
        file, fmt::format("gives row {} of the head to '{}' and to '{}'", row, at->second, token));
}

std::int64_t row_of(const nlohmann::json& row, const std::string& token,
                    const std::filesystem::path& file) {
  if (row.is_number_integer()) return row.get<std::int64_t>();
  throw_fault(file, fmt::format("gives '{}' row {}, which is no whole number", token, row.dump()));
}

/// Adds the tokens of an object {"token": row}.
void add_tokens(TokensByRow& tokens, const nlohmann::json& json,
                const std::filesystem::path& file) {
  for (const auto& [token, row] : json.items())
    add_token(tokens, row_of(row, token, file), token, file);
}

/// Returns a token of tokenizer_config.json, which is a text or an object with one.
std::optional<std::string> named_token(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->is_object() ? found->at("content").get<std::string>() : found->get<std::string>();
}

std::string languages_text(const nlohmann::json& json) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> names;
  for (const auto& [name, vocabulary] : json.items()) names.push_back(name);
  const std::size_t shown = std::min(names.size(), kShown);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + shown, ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

/// True if a vocab.json has one vocabulary per language.
bool is_by_language(const nlohmann::json& json) {
  return json.is_object() && !json.empty() && json.front().is_object();
}

/// Returns the vocabulary of `language`. Throws CheckpointError if there is none.
const nlohmann::json& vocabulary_of_language(const nlohmann::json& json, std::string& language,
                                             const std::filesystem::path& file) {
  const auto found = json.find(language);
  if (found != json.end()) return *found;
  const std::string known = languages_text(json);
  if (language.empty())
    throw_fault(file, fmt::format("has a vocabulary for each of {}, and tokenizer_config.json no "
                                  "target_lang: choose one with --language {}",
                                  known, json.begin().key()));
  throw_fault(file,
              fmt::format("has no vocabulary for the language '{}', only for {}", language, known));
}

std::int64_t row_of_key(const std::string& key, const std::filesystem::path& file) {
  std::int64_t row = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), row);
  if (error != std::errc() || end != key.data() + key.size())
    throw_fault(file, fmt::format("added_tokens_decoder has '{}', which is no row's number", key));
  return row;
}

void read_characters(const std::filesystem::path& folder, TokensByRow& tokens,
                     Vocabulary& vocabulary) {
  const auto file = folder / kVocabulary, added = folder / kAddedTokens;
  const auto config = folder / kTokenizerConfig;
  use_json_if_there(config, [&](const nlohmann::json& json) {
    if (vocabulary.language.empty())
      vocabulary.language = named_token(json, "target_lang").value_or("");
  });
  use_json(file, [&](const nlohmann::json& json) {
    if (is_by_language(json)) {
      add_tokens(tokens, vocabulary_of_language(json, vocabulary.language, file), file);
      return;
    }
    if (!vocabulary.language.empty())
      throw_fault(file, fmt::format("has one vocabulary, and not one for the language '{}'",
                                    vocabulary.language));
    add_tokens(tokens, json, file);
  });
  // After a change of language, tokens that were added to another language's vocabulary are ignored
  // if their rows are taken.
  const bool gives_way = !vocabulary.language.empty();
  use_json_if_there(added, [&](const nlohmann::json& json) {
    if (!gives_way) return add_tokens(tokens, json, added);
    TokensByRow more;
    add_tokens(more, json, added);
    tokens.merge(more);
  });
  use_json_if_there(config, [&](const nlohmann::json& json) {
    vocabulary.space = named_token(json, "word_delimiter_token").value_or("|");
    vocabulary.lower_case = json.value("do_lower_case", false);
    const nlohmann::json more = json.value("added_tokens_decoder", nlohmann::json::object());
    for (const auto& [key, token] : more.items()) {
      const std::int64_t row = row_of_key(key, config);
      if (!gives_way || !tokens.contains(row)) add_token(tokens, row, token.at("content"), config);
    }
  });
}

void read_pieces(const std::filesystem::path& folder, TokensByRow& tokens, Vocabulary& vocabulary) {
  vocabulary.space = "▁";
  const auto file = folder / kTokenizer;
  use_json(file, [&](const nlohmann::json& json) {
    const nlohmann::json& pieces = json.at("model").at("vocab");
    if (pieces.is_array()) {  // a unigram model: each item is a piece and its score
      for (std::size_t row = 0; row < pieces.size(); ++row)
        add_token(tokens, static_cast<std::int64_t>(row), pieces[row].at(0), file);
    } else {
      add_tokens(tokens, pieces, file);
    }
    const nlohmann::json added = json.value("added_tokens", nlohmann::json::array());
    for (const nlohmann::json& token : added) {
      const std::string content = token.at("content");
      if (token.value("special", false)) vocabulary.special.insert(content);
      add_token(tokens, row_of(token.at("id"), content, file), content, file);
    }
  });
}

/// Moves tokens without a row in the head to `beyond`. Throws CheckpointError if such a token is a
/// letter, because a transcript may need it.
void set_aside(TokensByRow& tokens, std::vector<std::string>& beyond, std::int64_t rows,
               const std::filesystem::path& file) {
  for (auto at = tokens.lower_bound(rows); at != tokens.end(); at = tokens.erase(at)) {
    if (decode_utf8(at->second).characters.size() == 1)
      throw_fault(file,
                  fmt::format("gives '{}' row {}, but the head of config.json's vocab_size has {}",
                              at->second, at->first, counted(rows, "row")));
    beyond.push_back(at->second);
  }
}

/// Throws CheckpointError unless each row of the head has a token, or else the first rows have.
void check_tokens(const TokensByRow& tokens, const HeadLabels& head,
                  const std::filesystem::path& file) {
  const std::int64_t rows = head.rows;
  if (!tokens.empty() && tokens.begin()->first < 0)
    throw_fault(file, fmt::format("gives '{}' row {}, but rows count from 0",
                                  tokens.begin()->second, tokens.begin()->first));
  if (static_cast<std::int64_t>(tokens.size()) == rows) return;
  std::int64_t row = 0;
  while (tokens.contains(row)) ++row;
  if (head.unnamed_rows && row > 0 && row == static_cast<std::int64_t>(tokens.size())) return;
  throw_fault(file, fmt::format("has {}, but the head of config.json's vocab_size has {}: row {} "
                                "stands for none",
                                counted(static_cast<std::int64_t>(tokens.size()), "token"),
                                counted(rows, "row"), row));
}

/// Throws CheckpointError if a text may have the token of the row that becomes label 0.
void check_row_of_no_text(const std::filesystem::path& folder, const std::string& token,
                          const HeadLabels& head, const Vocabulary& vocabulary) {
  if (vocabulary.special.contains(token)) return;
  throw_fault(
      folder / kTokenizer,
      fmt::format("has the token '{}' in row {}, which may be text; penstock writes no text "
                  "with {}, so it must be a special token such as {}",
                  token, head.blank, name_label_zero(head.blank_setting),
                  head.blank_setting.empty() ? "<s>" : "<|endoftext|>"));
}

void check_label_zero(const std::filesystem::path& folder, const TokensByRow& tokens,
                      const HeadLabels& head, const Vocabulary& vocabulary) {
  if (head.blank < 0 || head.blank >= head.rows)
    throw_fault(
        folder / kModelConfig,
        fmt::format("{} is {}, but the head has {}: it must name the row of {}",
                    head.blank_setting.empty() ? "the row of label 0" : head.blank_setting,
                    head.blank, counted(head.rows, "row"), name_label_zero(head.blank_setting)));
  const bool ends_texts =
      head.blank_setting == "eos_token_id" && head.kind == TokenizerKind::pieces;
  if (head.blank_setting.empty() || ends_texts) {
    const auto found = tokens.find(head.blank);
    check_row_of_no_text(folder, found == tokens.end() ? "" : found->second, head, vocabulary);
  }
  if (head.blank_setting != "pad_token_id") return;
  std::optional<std::string> pad;
  use_json_if_there(folder / kTokenizerConfig,
                    [&](const nlohmann::json& json) { pad = named_token(json, "pad_token"); });
  if (pad && tokens.at(head.blank) != *pad)
    throw_fault(folder / kTokenizerConfig,
                fmt::format("pad_token is '{}', but pad_token_id of config.json, {}, is the row of "
                            "'{}': both must be the blank",
                            *pad, head.blank, tokens.at(head.blank)));
}

}  // namespace

std::string_view name_label_zero(std::string_view setting) {
  if (setting.empty()) return "label 0";
  if (setting == "eos_token_id") return "the token that ends texts";
  return setting == "audio_token_id" ? "the place of the frames" : "the blank";
}

TokenizerKind tokenizer_kind(const std::filesystem::path& folder,
                             const Architecture& architecture) {
  const bool characters = is_there(folder / kVocabulary), pieces = is_there(folder / kTokenizer);
  const bool merges = characters && is_there(folder / kMerges);
  if (!characters && !pieces)
    throw_fault(folder, fmt::format("holds neither {} nor {}: save the tokenizer of the model into "
                                    "it",
                                    kVocabulary, kTokenizer));
  if (merges && !pieces) return TokenizerKind::byte_pairs;
  if (pieces && (merges || !characters) && has_byte_pairs(text_of_file(folder / kTokenizer)))
    return TokenizerKind::byte_pairs;
  if (characters && pieces) return architecture.tokenizer;
  return characters ? TokenizerKind::characters : TokenizerKind::pieces;
}

Vocabulary read_vocabulary(const std::filesystem::path& folder, const HeadLabels& head) {
  const bool characters = head.kind == TokenizerKind::characters;
  const auto file = folder / (characters ? kVocabulary : kTokenizer);
  Vocabulary vocabulary;
  vocabulary.language = head.language;
  TokensByRow tokens;
  if (characters) {
    read_characters(folder, tokens, vocabulary);
  } else {
    read_pieces(folder, tokens, vocabulary);
  }
  set_aside(tokens, vocabulary.beyond, head.rows, file);
  check_tokens(tokens, head, file);
  check_label_zero(folder, tokens, head, vocabulary);
  for (auto& [row, token] : tokens) vocabulary.tokens.push_back(token);
  return vocabulary;
}

}  // namespace penstock::runtime
