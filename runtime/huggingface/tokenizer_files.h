#pragma once

#include <cstdint>
#include <filesystem>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Writes the tokenizer of an alphabet, whose blank is the token "<pad>" of row `blank`: vocab.json
/// for an architecture of characters, tokenizer.json, of pieces of one character, for one of
/// pieces, and tokenizer_config.json for both.
void write_tokenizer(const std::filesystem::path& folder, const Architecture& architecture,
                     const configs::TextConfig& text, std::int64_t blank);

}  // namespace penstock::runtime
