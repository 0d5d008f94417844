#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// The name that `typed` most likely stands for: fewest letters inserted, removed, replaced or
/// swapped with their neighbour, in the whole name or in its part behind the dot; else the first
/// that goes on behind `typed` with an underscore. Empty if none is near.
[[nodiscard]] std::string nearest(std::string_view typed, std::span<const std::string_view> names);

/// "; did you mean h100-8?", for the end of a message; empty if no name is near.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       std::span<const std::string_view> names);
[[nodiscard]] std::string did_you_mean(std::string_view typed, std::span<const std::string> names);

}  // namespace penstock
