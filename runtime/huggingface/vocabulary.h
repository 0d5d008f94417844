#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// What the rows of a head stand for.
struct Vocabulary {
  std::vector<std::string> tokens;  // by row
  std::string space = "|";          // the token that ends words; of pieces, what begins them
  bool lower_case = false;          // its texts are small letters, its tokens capitals
};

/// The vocabulary of a folder: of vocab.json and the tokens added to it, or of tokenizer.json.
/// CheckpointError unless it names each of `rows` rows once, and no others, and calls row `blank`
/// its pad token where it says which that is.
[[nodiscard]] Vocabulary read_vocabulary(const std::filesystem::path& folder, TokenizerKind kind,
                                         std::int64_t rows, std::int64_t blank);

}  // namespace penstock::runtime
