#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// These functions format counts and quantities for messages: numbers, times, sizes.

/// Formats a number with four digits and no exponent: "1,060", "42.84", "0.00315".
[[nodiscard]] std::string number_text(double number);

/// Formats a time in its usual unit: "12.3 µs", "227.3 ms", "3.21 s", "12.5 min", "3.2 h", "4.1
/// days".
[[nodiscard]] std::string seconds_text(double seconds);

/// Formats a size with three digits: "812 B", "3.5 KiB", "812 MiB", "14.2 GiB".
[[nodiscard]] std::string bytes_text(double bytes);

/// Returns a count with its noun: "1 lane", "2 lanes".
[[nodiscard]] std::string counted(std::int64_t n, std::string_view singular);

/// Returns the same for an irregular plural: "1 copy", "2 copies".
[[nodiscard]] std::string counted(std::int64_t n, std::string_view singular,
                                  std::string_view plural);

/// Bytes in a GiB, the unit of memory in recipes, cluster files and messages.
inline constexpr double kGib = 1 << 30;

}  // namespace penstock
