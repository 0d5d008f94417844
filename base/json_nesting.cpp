#include "base/json_nesting.h"

namespace penstock {

// Brackets within strings nest nothing. All else is taken as it comes: a text that is no JSON is
// left to the parser's own error.
bool json_nests_too_deeply(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++at;  // the next character does not end the string
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepestNesting) return true;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return false;
}

}  // namespace penstock
