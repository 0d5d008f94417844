#pragma once

#include <cstdint>
#include <filesystem>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

struct HeadRows {
  std::int64_t count = 0, blank = 0;
};

/// Writes the tokenizer of an alphabet, whose blank is the token "<pad>": vocab.json for an
/// architecture of characters, tokenizer.json, of pieces of one character, for one of pieces, and
/// tokenizer_config.json for both. Rows that the alphabet leaves free are tokens such as "<29>".
void write_tokenizer(const std::filesystem::path& folder, const Architecture& architecture,
                     const configs::TextConfig& text, const HeadRows& rows);

}  // namespace penstock::runtime
