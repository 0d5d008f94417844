#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/byte_pairs/model.h"

namespace penstock::runtime {

/// A part of a text: an added token, or what lies between them.
struct TextPart {
  std::u32string_view text;
  std::optional<std::int32_t> id = {};
};

/// Finds added tokens in texts.
class AddedTokens {
 public:
  /// A token as it is found in texts.
  struct Entry {
    std::u32string text;
    AddedToken token;
  };

  AddedTokens() = default;
  explicit AddedTokens(std::vector<Entry> entries);

  /// Returns the parts of a text, which together are the text. At each place the longest token
  /// counts. A token that takes the spaces around it has them in its part.
  [[nodiscard]] std::vector<TextPart> parts(std::u32string_view text) const;

 private:
  /// Returns the longest token at the begin of a text; null if there is none.
  const Entry* find(std::u32string_view text) const;

  std::vector<Entry> entries_;  // in the order of their texts
};

}  // namespace penstock::runtime
