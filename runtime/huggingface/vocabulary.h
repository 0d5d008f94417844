#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// What the rows of a head stand for.
struct Vocabulary {
  std::vector<std::string> tokens;       // by row
  std::vector<std::string> beyond = {};  // tokens whose row the head lacks, such as <s> and </s>
  std::string space = "|";               // the token that ends words; of pieces, what begins them
  std::string language = {};  // of a vocab.json that has a vocabulary for each of several; or empty
  bool lower_case = false;    // its texts are small letters, its tokens capitals
};

/// The head whose rows a vocabulary names.
struct HeadLabels {
  TokenizerKind kind = TokenizerKind::characters;
  std::int64_t rows = 0, blank = 0;
  std::string_view blank_setting = "pad_token_id";  // of config.json, which names the blank
  std::string_view language = {};  // of a vocab.json of several; empty: the tokenizer's
};

/// The vocabulary of a folder: of vocab.json and the tokens added to it, or of tokenizer.json.
/// CheckpointError unless it names each row of the head once. Tokens beyond the head may be words
/// such as <s>, which transformers never emits, but no letters. Where pad_token_id names the blank,
/// the tokenizer's pad token must be the blank's, if it has one. A vocab.json of several languages
/// has an object of tokens for each; CheckpointError names them unless one is chosen.
[[nodiscard]] Vocabulary read_vocabulary(const std::filesystem::path& folder,
                                         const HeadLabels& head);

}  // namespace penstock::runtime
