#include "configs/toml_line.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <string_view>
#include <vector>

// toml++ formats whole tables only. So a value is formatted as the only entry of a table, whose key
// is then cut off, and a key as that of such an entry.

namespace penstock::configs {
namespace {

std::string key_text(const toml::key& key) {
  const toml::table holder{{key, true}};
  const std::string text = fmt::format("{}", fmt::streamed(holder));  // "KEY = true"
  return text.substr(0, text.rfind('=') - 1);
}

/// Returns the shortest decimal form that is no whole number's. toml++ writes 0.1 with 17 digits.
std::string float_text(double number) {
  const std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;  // also of inf, nan
}

std::string in_brackets(char open, const std::vector<std::string>& items, char close) {
  if (items.empty()) return {open, close};
  return fmt::format("{} {} {}", open, fmt::join(items, ", "), close);
}

}  // namespace

std::string toml_line(const toml::node& value) {
  std::vector<std::string> items;
  if (const toml::array* const list = value.as_array()) {
    for (const toml::node& item : *list) items.push_back(toml_line(item));
    return in_brackets('[', items, ']');
  }
  if (const toml::table* const table = value.as_table()) {
    for (const auto& [key, item] : *table)
      items.push_back(fmt::format("{} = {}", key_text(key), toml_line(item)));
    return in_brackets('{', items, '}');
  }
  if (value.is_floating_point()) return float_text(*value.value<double>());
  toml::table holder;
  holder.insert("v", value);
  const std::string text = fmt::format("{}", fmt::streamed(holder));  // "v = VALUE"
  return text.substr(text.find('=') + 2);
}

}  // namespace penstock::configs
