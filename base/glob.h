#pragma once

#include <string_view>

namespace penstock {

/// Returns true if a pattern matches the whole name. '*' matches any characters or none, '?'
/// matches one, and every other character matches itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view name);

}  // namespace penstock
