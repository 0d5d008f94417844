#include "runtime/huggingface/name_patterns.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/name_match.h"

// Each name is tried as patterns that match more and more exactly: with any number of a block and
// any last part, with any number, with any last part, and as it is. The first that matches chosen
// names alone is taken.

namespace penstock::runtime {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// Replaces the first number in a name by a star.
std::string any_number(const std::string& name) {
  const std::size_t first = name.find_first_of(kDigits);
  if (first == std::string::npos) return name;
  const std::size_t end = std::min(name.find_first_not_of(kDigits, first), name.size());
  return name.substr(0, first) + "*" + name.substr(end);
}

/// Replaces the last part of a name by a star.
std::string any_last(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot + 1) + "*";
}

}  // namespace

std::vector<std::string> name_patterns(const std::set<std::string>& chosen,
                                       const std::vector<std::string>& all) {
  const auto exact = [&](const std::string& pattern) {
    return std::ranges::all_of(all, [&](const std::string& name) {
      return !matches_glob(pattern, name) || chosen.contains(name);
    });
  };
  std::set<std::string> patterns;
  for (const std::string& name : chosen) {
    const bool matched = std::ranges::any_of(
        patterns, [&](const std::string& pattern) { return matches_glob(pattern, name); });
    if (matched) continue;
    for (const std::string& pattern :
         {any_number(any_last(name)), any_number(name), any_last(name), name})
      if (pattern == name || exact(pattern)) {
        patterns.insert(pattern);
        break;
      }
  }
  return {patterns.begin(), patterns.end()};
}

}  // namespace penstock::runtime
