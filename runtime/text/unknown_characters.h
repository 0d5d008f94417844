#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock::runtime {

/// Thrown if a transcript has characters that have no label.
class UnknownCharacters : public DataError {
 public:
  /// `where` says where labels are missing: "outside text.alphabet". `characters` may contain
  /// repeats.
  UnknownCharacters(std::string_view where, std::u32string characters);
  const std::u32string& characters() const { return characters_; }

 private:
  std::u32string characters_;
};

/// Lists characters and the number of transcripts that have each, the most frequent first: "'о'
/// (U+043E) in 551, 'е' (U+0435) in 549, and 31 others".
[[nodiscard]] std::string describe_characters(const std::map<char32_t, std::int64_t>& transcripts,
                                              std::size_t max);

}  // namespace penstock::runtime
