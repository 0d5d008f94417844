#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Rows of the tokens that begin and end each text of a language model.
struct TextEnds {
  std::int64_t bos = 0, eos = 0;
};

struct HeadRows {
  std::int64_t count = 0, blank = 0;
  std::string_view blank_token = "<pad>";
  std::optional<TextEnds> ends = {};  // the end pads too; empty: the blank pads
};

/// Returns the tokens that tokenizer_config.json names, such as {"pad_token": "<pad>"}, among the
/// tokens of all rows.
[[nodiscard]] std::map<std::string, std::string> named_tokens(const HeadRows& head,
                                                              std::span<const std::string> tokens);

/// Writes the tokenizer of an alphabet. Its blank is its pad token too. For an architecture of
/// characters it is vocab.json; for one of pieces it is tokenizer.json, with pieces of one
/// character. tokenizer_config.json is written for both. Rows beyond the alphabet are tokens such
/// as "<29>".
void write_tokenizer(const std::filesystem::path& folder, const Architecture& architecture,
                     const configs::TextConfig& text, const HeadRows& rows);

/// Writes the tokenizer of a SentencePiece model in the form that tokenizers and transformers load:
/// tokenizer.json, tokenizer_config.json, and the model's bytes as tokenizer.model. Rows beyond the
/// pieces are tokens such as "<29>". Throws ConfigError if tokenizer.json can't express the model:
/// it puts spaces after words, leaves spaces unescaped, or has unused pieces.
void write_piece_tokenizer(const std::filesystem::path& folder, std::string_view model,
                           const HeadRows& rows);

}  // namespace penstock::runtime
