#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/huggingface/write_tokenizer.h"

namespace penstock::runtime {

/// Writes what tokenizers and transformers load as the tokenizer of a SentencePiece model's pieces:
/// tokenizer.json, tokenizer_config.json, and the model's bytes as tokenizer.model. Rows that the
/// pieces leave free are tokens such as "<29>". ConfigError if tokenizer.json can't say what the
/// model does: it puts spaces behind words, leaves them as they are, or has unused pieces.
void write_piece_tokenizer(const std::filesystem::path& folder, std::string_view model,
                           const HeadRows& rows);

}  // namespace penstock::runtime
