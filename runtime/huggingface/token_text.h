#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// The alphabet of a vocabulary.
struct TokenText {
  configs::TextConfig text;
  std::vector<std::string> replaced;  // tokens for which stand-ins are in the alphabet
};

/// An alphabet whose labels are the tokens but the blank's, in their order: its own character, or
/// ' ', for each of one character; for others, such as "<unk>", a stand-in, a character of
/// Unicode's private planes. text.fold is what leaves the alphabet as it is.
[[nodiscard]] TokenText text_of_tokens(const Vocabulary& vocabulary, std::int64_t blank);

/// The tokens of an alphabet behind the blank, in order: what text_of_tokens() made it of as far as
/// it says.
[[nodiscard]] std::vector<std::string> tokens_of_text(const configs::TextConfig& text,
                                                      const std::string& space);

}  // namespace penstock::runtime
