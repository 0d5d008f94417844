#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "configs/rules.h"

namespace penstock::configs {
namespace {

std::string_view inner_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Parses "pattern: factor". The last colon divides the two, so a pattern may hold colons. A factor
/// of 0 is refused: freezing is optimizer.freeze's, which also spares the gradients.
std::optional<RateFactor> parse(std::string_view entry) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view pattern = inner_text(entry.substr(0, colon));
  const std::string_view number = inner_text(entry.substr(colon + 1));
  RateFactor parsed{std::string(pattern), 0};
  const char* const end = number.data() + number.size();
  const auto [read, error] = std::from_chars(number.data(), end, parsed.factor);
  const bool whole = error == std::errc() && read == end;
  if (pattern.empty() || !whole || !std::isfinite(parsed.factor) || parsed.factor <= 0) return {};
  return parsed;
}

}  // namespace

std::vector<RateFactor> rate_factors(const OptimizerConfig& optimizer) {
  std::vector<RateFactor> factors;
  std::vector<std::string> faults;
  // All faulty entries are named at once.
  for (const std::string& entry : optimizer.learning_rates)
    if (const auto parsed = parse(entry))
      factors.push_back(*parsed);
    else
      faults.push_back(fmt::format(
          "optimizer.learning_rates has \"{}\", expected \"pattern: factor\" with a factor above "
          "0, such as \"output.*: 10\"; optimizer.freeze takes what is not to be trained",
          entry));
  if (!faults.empty()) throw ConfigError(fmt::format("{}", fmt::join(faults, "\n")));
  return factors;
}

}  // namespace penstock::configs
