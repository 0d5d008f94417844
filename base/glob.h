#pragma once

#include <string_view>

namespace penstock {

/// Whether a pattern stands for the whole name: '*' for any characters, also none, '?' for one, and
/// every other character for itself.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view name);

}  // namespace penstock
