#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// The name that `typed` most likely stands for: fewest letters inserted, removed, replaced or
/// swapped with their neighbour, in the whole name or in its part behind the dot. Empty if none is
/// near.
[[nodiscard]] std::string nearest(std::string_view typed, std::span<const std::string_view> names);

}  // namespace penstock
