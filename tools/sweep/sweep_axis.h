#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::tools {

/// A key of a sweep, and the values that its runs take: a list, or a range from which they draw.
struct SweepAxis {
  std::string key;                       // by its present name
  std::string written;                   // as on the command line, after "="
  std::vector<std::string> values = {};  // of a list; empty for a range
  double low = 0, high = 0;              // of a range, both included
  bool logarithmic = false;              // equal ratios are drawn alike
  bool whole = false;                    // whole numbers alone are drawn
  bool is_range() const { return values.empty(); }
};

/// Parses "key=a,b,c" or "key=LOW..HIGH@log" (@linear; without either @linear). Commas within
/// brackets, braces and quotes do not divide values. Numbers without point and exponent at both
/// ends make a range of whole numbers. Returns nothing for a key with one value, which all runs
/// share. ConfigError for empty or repeated values and for ranges that hold nothing.
[[nodiscard]] std::optional<SweepAxis> parse_axis(const std::string& word);

}  // namespace penstock::tools
