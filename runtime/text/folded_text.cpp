#include "runtime/text/folded_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace penstock::runtime {

std::u32string folded_text(std::string_view text, configs::Fold fold) {
  std::u32string out;
  bool space = false;
  for (const char32_t character : from_utf8(text)) {
    if (is_space(character)) {
      space = !out.empty();
      continue;
    }
    if (std::exchange(space, false)) out += U' ';
    out += configs::folded(character, fold);
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
