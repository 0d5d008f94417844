#include "base/glob.h"

#include <cstddef>

namespace penstock {

/// Matches greedily and backtracks to the last '*' alone: it takes one more character whenever the
/// pattern after it does not fit. The worst case takes pattern × name steps.
bool matches_glob(std::string_view pattern, std::string_view name) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, read = 0, star = none, taken = 0;
  while (read < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = read;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[read])) {
      ++at;
      ++read;
    } else if (star != none) {
      at = star + 1;
      read = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace penstock
