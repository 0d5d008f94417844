#pragma once

#include <filesystem>
#include <string>

namespace penstock::runtime {

/// Returns the tokenizer.json of a path: the text of a file; that of a folder's tokenizer.json; or
/// else what transformers makes of a folder's vocab.json, merges.txt, added_tokens.json and
/// tokenizer_config.json, whose tokenizer_class must be Whisper's, GPT-2's or Qwen2's. Throws
/// DataError, or FileError if a file can't be read.
[[nodiscard]] std::string byte_pairs_at(const std::filesystem::path& path);

}  // namespace penstock::runtime
