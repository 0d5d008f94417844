#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// The meaning of a head's rows.
struct Vocabulary {
  std::vector<std::string> tokens;       // by row
  std::vector<std::string> beyond = {};  // tokens whose row the head lacks, such as <s> and </s>
  std::string space = "|";    // token that ends words; with pieces, the one that begins them
  std::string language = {};  // language of a vocab.json that has several; else empty
  bool lower_case = false;    // true: texts are lower case, tokens are capitals
  std::set<std::string> special = {};  // tokens of tokenizer.json that stand for no text
};

/// The head whose rows a vocabulary names.
struct HeadLabels {
  TokenizerKind kind = TokenizerKind::characters;
  std::int64_t rows = 0, blank = 0;
  std::string_view blank_setting = "pad_token_id";  // setting of config.json that names the blank
  /// Language of a vocab.json that has several; empty: the tokenizer's.
  std::string_view language = {};
  bool unnamed_rows = false;  // true if the last rows may have no token
};

/// Returns what the row of label 0 stands for, by the setting of config.json that names it: "the
/// blank", "the token that ends texts" or "the place of the frames"; "label 0" if none does.
[[nodiscard]] std::string_view name_label_zero(std::string_view setting);

/// Reads the vocabulary of a folder: vocab.json and the tokens added to it, or tokenizer.json.
/// Throws CheckpointError unless it names each row of the head once, but for unnamed_rows. Tokens
/// beyond the head may be words such as <s>, which transformers never emits, but not letters. If
/// pad_token_id names the blank, the tokenizer's pad token, if it has one, must be the blank's. If
/// no setting does, the token of row 0 must stand for no text. A vocab.json of several languages
/// has an object of tokens for each. If none is chosen, CheckpointError names the languages.
[[nodiscard]] Vocabulary read_vocabulary(const std::filesystem::path& folder,
                                         const HeadLabels& head);

/// Returns the kind of tokenizer that the folder holds. Any architecture may have either kind. If
/// the folder has the files of both, the architecture's usual kind wins. Throws CheckpointError if
/// it has neither.
[[nodiscard]] TokenizerKind tokenizer_kind(const std::filesystem::path& folder,
                                           const Architecture& architecture);

}  // namespace penstock::runtime
