#include "base/shell_word.h"

#include <algorithm>
#include <string_view>

namespace penstock {
namespace {

bool is_safe(char c) {
  constexpr std::string_view kSafe = "%+,-./:=@_";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || kSafe.find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

std::string shell_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, is_safe) ? text : shell_quoted(text);
}

}  // namespace penstock
