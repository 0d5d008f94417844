#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/huggingface/write_tokenizer.h"

namespace penstock::runtime {

/// Writes the tokenizer of a SentencePiece model in the form that tokenizers and transformers load:
/// tokenizer.json, tokenizer_config.json, and the model's bytes as tokenizer.model. Rows beyond the
/// pieces are tokens such as "<29>". Throws ConfigError if tokenizer.json can't express the model:
/// it puts spaces after words, leaves spaces unescaped, or has unused pieces.
void write_piece_tokenizer(const std::filesystem::path& folder, std::string_view model,
                           const HeadRows& rows);

}  // namespace penstock::runtime
