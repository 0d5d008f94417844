#include "base/name_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

/// Returns the optimal string alignment distance, by dynamic programming over prefixes.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

/// Returns the part after the last dot: people know "learning_rate" and guess its section.
std::string_view leaf(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

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

bool excludes(std::string_view pattern) { return pattern.starts_with('!'); }

bool selects(const std::vector<std::string>& patterns, std::string_view name) {
  bool selected = false;
  for (const std::string_view pattern : patterns) {
    if (!excludes(pattern))
      selected = selected || matches_glob(pattern, name);
    else if (matches_glob(pattern.substr(1), name))
      return false;
  }
  return selected;
}

// One slip is allowed for every three letters typed, and always one. Whole names and their last
// parts compete, each by its own length; among equals the first name wins.
std::string nearest(std::string_view typed, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t min = std::string_view::npos;
  const auto offer = [&](std::string_view name, std::size_t slips, std::size_t letters) {
    if (slips <= std::max<std::size_t>(1, letters / 3) && slips < min) {
      min = slips;
      best = name;
    }
  };
  for (std::string_view name : names) {
    offer(name, distance(typed, name), typed.size());
    offer(name, distance(leaf(typed), leaf(name)), leaf(typed).size());
  }
  const auto goes_on = [&](std::string_view name) {
    return !typed.empty() && name.starts_with(typed) && name.substr(typed.size()).starts_with('_');
  };
  if (best.empty())
    for (std::string_view name : names)
      if (best.empty() && goes_on(name)) best = name;
  return std::string(best);
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> names) {
  const std::string near = nearest(typed, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return did_you_mean(typed, views);
}

}  // namespace penstock
