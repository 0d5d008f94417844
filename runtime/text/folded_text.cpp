#include "runtime/text/folded_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace penstock::runtime {

std::u32string folded_text(std::string_view text, const configs::TextRules& rules) {
  const auto removed = [&](char32_t character) {
    return rules.removed.find(character) != std::u32string::npos;
  };
  const bool spaced = !removed(U' ');
  std::u32string out;
  bool space = false;
  for (const char32_t character : configs::normalised_and_folded(from_utf8(text), rules)) {
    if (is_space(character)) {
      space = spaced && !out.empty();
      continue;
    }
    if (removed(character)) continue;
    if (std::exchange(space, false)) out += U' ';
    out += character;
  }
  return out;
}

std::string listed(std::u32string_view characters) {
  std::string list;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const std::u32string_view character = characters.substr(i, 1);
    if (characters.find(character) < i) continue;
    list += fmt::format("{}'{}' (U+{:04X})", list.empty() ? "" : ", ", to_utf8(character),
                        static_cast<std::uint32_t>(character.front()));
  }
  return list;
}

}  // namespace penstock::runtime
