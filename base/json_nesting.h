#pragma once

#include <cstddef>
#include <string_view>

namespace penstock {

/// The deepest nesting of JSON that penstock reads: no file of its own or of other tools nests a
/// tenth as deep. The library prints and copies values by recursion, so that a text of some ten
/// thousand brackets would overflow the stack.
inline constexpr std::size_t kDeepestNesting = 128;

/// Returns true if arrays and objects of a text nest deeper than that. The text need not be JSON.
[[nodiscard]] bool json_nests_too_deeply(std::string_view text);

}  // namespace penstock
