#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "runtime/huggingface/vocabulary.h"
#include "runtime/huggingface/write_tokenizer.h"
#include "runtime/text/byte_pairs/model.h"

namespace penstock::runtime {

/// The byte-level BPE of a head.
struct BytePairRows {
  BytePairModel model;    // without the blank: id i is label i + 1
  Vocabulary vocabulary;  // by row; rows without a token have empty ones
};

/// Reads the byte-level BPE of a folder, in either form. Tokens beyond the head's rows, and merges
/// that need them, are left out. Row `blank` becomes label 0, and `setting` of config.json names
/// it. Throws CheckpointError if the folder has none that parse_byte_pairs() reads, or if that row
/// is of a token which texts may have.
[[nodiscard]] BytePairRows read_byte_pair_rows(const std::filesystem::path& folder,
                                               std::int64_t rows, std::int64_t blank,
                                               std::string_view setting = "pad_token_id");

/// Writes the tokenizer of a byte-level BPE as tokenizer.json and tokenizer_config.json. The blank
/// is a special token at its row.
void write_byte_pair_tokenizer(const std::filesystem::path& folder, std::string_view model,
                               const HeadRows& rows);

}  // namespace penstock::runtime
