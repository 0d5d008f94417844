#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// These functions compare names: with a pattern, and with the names that a typed one may mean.

/// Returns true if a pattern matches the whole name. '*' matches any characters or none, '?'
/// matches one, and every other character matches itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view name);

/// Returns true if a pattern takes names out of those that others of its list select: "!output.*".
[[nodiscard]] bool excludes(std::string_view pattern);

/// Returns true if a pattern of a list matches the name, and none after a "!" does.
[[nodiscard]] bool selects(const std::vector<std::string>& patterns, std::string_view name);

/// Returns the name that `typed` most likely means: the one with the fewest letters inserted,
/// removed, replaced or swapped with a neighbour, in the whole name or in the part after the dot.
/// If none is near, it is the first name that continues `typed` with an underscore, or else "".
[[nodiscard]] std::string nearest(std::string_view typed, std::span<const std::string_view> names);

/// Returns "; did you mean h100-8?" for the end of a message, or "" if no name is near.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       std::span<const std::string_view> names);
[[nodiscard]] std::string did_you_mean(std::string_view typed, std::span<const std::string> names);

}  // namespace penstock
