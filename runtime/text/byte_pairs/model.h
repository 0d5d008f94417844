#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/byte_pairs/word_split.h"

namespace penstock::runtime {

/// A token that is found in texts as a whole, before they are cut into words.
struct AddedToken {
  std::string text;
  std::int32_t id = 0;
  bool special = false;     // it stands for no text
  bool normalized = false;  // it is found once the text is normalised, not before
  bool takes_spaces_before = false, takes_spaces_after = false;
};

/// A tokenizer of byte-level BPE, as a tokenizer.json has it.
struct BytePairModel {
  std::vector<std::string> tokens;  // by id; empty where a vocabulary has a gap
  std::vector<std::pair<std::string, std::string>> merges;  // the first one comes first
  std::vector<AddedToken> added;                            // their texts are among tokens, too
  WordSplit split = WordSplit::gpt2;
  bool composes = false;      // texts get Unicode's normalisation form C
  bool prefix_space = false;  // texts that begin with no space get one
  bool whole_words = false;   // a word that is a token is not merged
};

/// Ids must be smaller: hostile files would take much memory otherwise.
inline constexpr std::int64_t kMaxTokens = 1 << 20;

/// Reads the text of a tokenizer.json. Throws DataError that names the part that it can't use: JSON
/// of another kind, another model than BPE, steps that are not those of Whisper or Qwen2, a byte
/// without a token, or merges of unknown tokens.
[[nodiscard]] BytePairModel parse_byte_pairs(std::string_view tokenizer_json);

/// Returns the text of a tokenizer.json that parse_byte_pairs() reads as that model, and that the
/// tokenizers library loads.
[[nodiscard]] std::string to_tokenizer_json(const BytePairModel& model);

/// Returns true if the text of a tokenizer.json is one of byte-level BPE, which need not be
/// correct.
[[nodiscard]] bool has_byte_pairs(std::string_view tokenizer_json);

}  // namespace penstock::runtime
