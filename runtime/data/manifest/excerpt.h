#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Returns the beginning of a foreign text for a message: at most so many of its bytes, cut between
/// characters. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes = 60);

}  // namespace penstock::runtime
