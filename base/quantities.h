#pragma once

#include <string>

namespace penstock {

/// Formats a number with four digits and no exponent: "1,060", "42.84", "0.00315".
[[nodiscard]] std::string number_text(double number);

/// Formats a time in its usual unit: "12.3 µs", "227.3 ms", "3.21 s", "12.5 min", "3.2 h", "4.1
/// days".
[[nodiscard]] std::string seconds_text(double seconds);

/// Formats a size with three digits: "812 B", "3.5 KiB", "812 MiB", "14.2 GiB".
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace penstock
