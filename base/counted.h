#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// Returns a count with its noun: "1 lane", "2 lanes".
[[nodiscard]] std::string counted(std::int64_t n, std::string_view singular);

/// Returns the same for an irregular plural: "1 copy", "2 copies".
[[nodiscard]] std::string counted(std::int64_t n, std::string_view singular,
                                  std::string_view plural);

}  // namespace penstock
