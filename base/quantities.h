#pragma once

#include <string>

namespace penstock {

/// Four digits of a number and no exponent: "1,060", "42.84", "0.00315".
[[nodiscard]] std::string number_text(double number);

/// A time in the unit that people would say: "12.3 µs", "227.3 ms", "3.21 s", "12.5 min", "3.2 h",
/// "4.1 days".
[[nodiscard]] std::string seconds_text(double seconds);

/// "812 B", "3.5 KiB", "812 MiB", "14.2 GiB", three digits.
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace penstock
