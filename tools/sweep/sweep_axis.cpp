#include "tools/sweep/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "configs/named_keys.h"

namespace penstock::tools {
namespace {

/// Divides a text at commas that stand outside brackets, braces and quotes.
std::vector<std::string> divided_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

std::optional<double> end_of_range(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// The largest whole number of a range, below which a double holds all of them.
constexpr double kLargestWhole = 1e15;

bool is_whole(std::string_view text) { return text.find_first_of(".eE") == std::string_view::npos; }

/// Parses what follows "=" as a range; returns nothing for a text that is none.
std::optional<SweepAxis> parse_range(const std::string& key, const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const std::size_t at = std::min(text.find('@', dots), text.size());
  const std::string low = text.substr(0, dots), high = text.substr(dots + 2, at - dots - 2);
  const auto first = end_of_range(low), last = end_of_range(high);
  if (!first || !last) return std::nullopt;
  const std::string scale = text.substr(at);
  if (!scale.empty() && scale != "@log" && scale != "@linear")
    throw ConfigError(
        fmt::format("{}={}: a range ends in @log or @linear, not in {}", key, text, scale));
  SweepAxis axis{.key = key, .written = text, .low = *first, .high = *last};
  axis.logarithmic = scale == "@log";
  axis.whole = is_whole(low) && is_whole(high);
  if (!(axis.low < axis.high))
    throw ConfigError(
        fmt::format("{}={}: a range goes from a lower to a higher number", key, text));
  if (axis.logarithmic && axis.low <= 0)
    throw ConfigError(
        fmt::format("{}={}: @log needs numbers above 0; @linear takes any", key, text));
  if (axis.whole && std::max(-axis.low, axis.high) > kLargestWhole)
    throw ConfigError(fmt::format("{}={}: whole numbers of a range reach up to 1e15", key, text));
  return axis;
}

}  // namespace

std::optional<SweepAxis> parse_axis(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = configs::current_name(word.substr(0, equals));
  const std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (auto range = parse_range(key, text)) return range;
  SweepAxis axis{.key = key, .written = text, .values = divided_values(text)};
  if (axis.values.size() == 1) return std::nullopt;
  for (auto value = axis.values.begin(); value != axis.values.end(); ++value) {
    if (value->empty())
      throw ConfigError(fmt::format("{}={}: a value is empty: commas divide values", key, text));
    if (std::find(axis.values.begin(), value, *value) != value)
      throw ConfigError(fmt::format("{}={}: {} stands there twice", key, text, *value));
  }
  return axis;
}

}  // namespace penstock::tools
