#include "base/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock {
namespace {

/// Formats a number with `digits` significant digits, but all digits before the point, and without
/// zeros at the end.
std::string with_digits(double number, int digits) {
  if (number == 0 || !std::isfinite(number)) return fmt::format("{:g}", number);
  const int before = static_cast<int>(std::floor(std::log10(std::abs(number)))) + 1;
  std::string text = fmt::format("{:.{}f}", number, std::max(0, digits - before));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string number_text(double number) {
  std::string text = with_digits(number, 4);
  const auto point = std::min(text.find('.'), text.size());
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string seconds_text(double seconds) {
  constexpr std::pair<double, const char*> units[] = {{86400, "days"}, {3600, "h"},  {60, "min"},
                                                      {1, "s"},        {1e-3, "ms"}, {1e-6, "µs"}};
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  for (const auto& [unit, name] : units) {
    const double min = unit > 1 ? 2 * unit : unit;  // "90 s", not "1.5 min"
    if (size >= min) return fmt::format("{} {}", with_digits(seconds / unit, 4), name);
  }
  return fmt::format("{} µs", with_digits(seconds * 1e6, 4));
}

std::string bytes_text(double bytes) {
  constexpr std::pair<double, const char*> units[] = {
      {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [unit, name] : units)
    if (bytes >= unit) return fmt::format("{} {}", with_digits(bytes / unit, 3), name);
  return fmt::format("{} B", with_digits(bytes, 3));
}

std::string counted(std::int64_t n, std::string_view singular) {
  return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
}

std::string counted(std::int64_t n, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", n, n == 1 ? singular : plural);
}

}  // namespace penstock
