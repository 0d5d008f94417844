#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// The alphabet of a vocabulary, as [text].
struct TokenText {
  configs::TextConfig text;
  std::vector<std::string> replaced;  // tokens that the alphabet represents by stand-ins
};

/// Returns an alphabet whose labels are the tokens without the blank, in order. A token of one
/// character is that character, or ' '. Others, such as "<unk>", get a stand-in, a character of
/// Unicode's private planes. text.fold leaves the alphabet unchanged.
[[nodiscard]] TokenText text_of_tokens(const Vocabulary& vocabulary, std::int64_t blank);

/// Returns the tokens of an alphabet's labels, without the blank, in order. It reverses
/// text_of_tokens() as far as stand-ins identify their tokens.
[[nodiscard]] std::vector<std::string> tokens_of_text(const configs::TextConfig& text,
                                                      const std::string& space);

}  // namespace penstock::runtime
