#pragma once

#include <cstdint>
#include <filesystem>

#include "configs/config.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

struct HeadRows {
  std::int64_t count = 0, blank = 0;
};

/// Writes the tokenizer of an alphabet, whose blank is the token "<pad>". For an architecture of
/// characters it is vocab.json; for one of pieces it is tokenizer.json, with pieces of one
/// character. tokenizer_config.json is written for both. Rows beyond the alphabet are tokens such
/// as "<29>".
void write_tokenizer(const std::filesystem::path& folder, const Architecture& architecture,
                     const configs::TextConfig& text, const HeadRows& rows);

}  // namespace penstock::runtime
