#pragma once

namespace penstock {

/// Bytes in a GiB, the unit of memory in recipes, cluster files and messages.
inline constexpr double kGib = 1 << 30;

}  // namespace penstock
