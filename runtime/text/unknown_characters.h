#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock::runtime {

/// A transcript has characters that no label stands for.
class UnknownCharacters : public DataError {
 public:
  /// `where` no label has them: "outside text.alphabet". `characters` may name one several times.
  UnknownCharacters(std::string_view where, std::u32string characters);
  const std::u32string& characters() const { return characters_; }

 private:
  std::u32string characters_;
};

/// "'о' (U+043E) in 551, 'е' (U+0435) in 549, and 31 others": how many transcripts have each, the
/// most frequent first.
[[nodiscard]] std::string told_characters(const std::map<char32_t, std::int64_t>& transcripts,
                                          std::size_t most);

}  // namespace penstock::runtime
