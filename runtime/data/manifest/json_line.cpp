#include "runtime/data/manifest/json_line.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_nesting.h"

namespace penstock::runtime {

std::optional<nlohmann::json> json_in_line(const ManifestReading& reading, const std::string& line,
                                           const std::string& where) {
  if (json_nests_too_deeply(line)) {
    reading.faults.add(where, fmt::format("nests deeper than {}", kDeepestNesting));
    return std::nullopt;
  }
  try {
    return nlohmann::json::parse(line);
  } catch (const nlohmann::json::exception& error) {
    // The message is "[json.exception.…] parse error at line 1, column 7: …"; its line is always 1.
    const std::string what = error.what();
    const std::size_t column = what.find("column");
    reading.faults.add(where,
                       "bad JSON: " + (column == std::string::npos ? what : what.substr(column)));
    return std::nullopt;
  }
}

std::optional<std::string> string_in(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<double> number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

const nlohmann::json& part_in(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNone = nlohmann::json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_structured() ? *found : kNone;
}

}  // namespace penstock::runtime
