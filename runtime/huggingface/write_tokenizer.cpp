#include "runtime/huggingface/write_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/token_text.h"

// The alphabet's labels, in order, with the blank at its row, are the vocabulary of either form.
// Rows that the head has beyond the alphabet get names, because transformers wants one for each. In
// the form of pieces every character is a piece and there are no merges, so a text splits into its
// characters.

namespace penstock::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Tokens = std::vector<std::string>;

/// Returns the tokens of all rows of the head.
Tokens tokens_of_rows(Tokens tokens, const HeadRows& head) {
  while (static_cast<std::int64_t>(tokens.size()) + 1 < head.count)
    tokens.push_back(fmt::format("<{}>", tokens.size() + 1));
  tokens.emplace(tokens.begin() + head.blank, head.blank_token);
  return tokens;
}

/// Returns {"token": row} for each row of the head, such as {"<pad>": 0, "|": 1, "e": 2}.
OrderedJson rows_of(const Tokens& tokens) {
  OrderedJson rows = OrderedJson::object();
  for (std::size_t row = 0; row < tokens.size(); ++row) rows[tokens[row]] = row;
  return rows;
}

/// Returns a token's name if the token exists, else null.
OrderedJson if_among(const Tokens& tokens, const char* name) {
  if (std::ranges::find(tokens, name) == tokens.end()) return nullptr;
  return name;
}

void write_json(const std::filesystem::path& file, const OrderedJson& json) {
  write_durably(file, json.dump(2) + "\n");
}

void write_characters(const std::filesystem::path& folder, const configs::TextConfig& text,
                      const HeadRows& head) {
  // If '|' is a letter of the alphabet, it can't mark the end of a word.
  const std::string space = text.alphabet.find('|') == std::string::npos ? "|" : "<space>";
  const Tokens tokens = tokens_of_text(text, space);
  write_json(folder / kVocabulary, rows_of(tokens_of_rows(tokens, head)));
  write_json(folder / kTokenizerConfig, {{"tokenizer_class", "Wav2Vec2CTCTokenizer"},
                                         {"pad_token", head.blank_token},
                                         {"word_delimiter_token", space},
                                         {"bos_token", if_among(tokens, "<s>")},
                                         {"eos_token", if_among(tokens, "</s>")},
                                         {"unk_token", if_among(tokens, "<unk>")},
                                         {"do_lower_case", false}});
}

OrderedJson replace(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

/// Writes the pieces as the tokenizers library writes a BPE model without merges: every character
/// is a piece.
void write_pieces(const std::filesystem::path& folder, const configs::TextConfig& text,
                  const HeadRows& head) {
  const OrderedJson pad = {
      {"id", head.blank}, {"content", head.blank_token}, {"single_word", false}, {"lstrip", false},
      {"rstrip", false},  {"normalized", false},         {"special", true}};
  const Tokens tokens = tokens_of_rows(tokens_of_text(text, "▁"), head);
  const OrderedJson model = {{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false},
                             {"vocab", rows_of(tokens)},
                             {"merges", OrderedJson::array()}};
  write_json(folder / kTokenizer, {{"version", "1.0"},
                                   {"truncation", nullptr},
                                   {"padding", nullptr},
                                   {"added_tokens", OrderedJson::array({pad})},
                                   {"normalizer", replace(" ", "▁")},
                                   {"pre_tokenizer", nullptr},
                                   {"post_processor", nullptr},
                                   {"decoder", replace("▁", " ")},
                                   {"model", model}});
  OrderedJson config(named_tokens(head, tokens));
  config["tokenizer_class"] = "ParakeetTokenizer";
  write_json(folder / kTokenizerConfig, config);
}

}  // namespace

std::map<std::string, std::string> named_tokens(const HeadRows& head,
                                                std::span<const std::string> tokens) {
  const auto token = [&](std::int64_t row) { return tokens[static_cast<std::size_t>(row)]; };
  if (!head.ends) return {{"pad_token", token(head.blank)}};
  const auto [bos, eos] = *head.ends;
  return {{"bos_token", token(bos)}, {"eos_token", token(eos)}, {"pad_token", token(eos)}};
}

void write_tokenizer(const std::filesystem::path& folder, const Architecture& architecture,
                     const configs::TextConfig& text, const HeadRows& rows) {
  if (architecture.tokenizer == TokenizerKind::characters) {
    write_characters(folder, text, rows);
  } else {
    write_pieces(folder, text, rows);
  }
}

}  // namespace penstock::runtime
