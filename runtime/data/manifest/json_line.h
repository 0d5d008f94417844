#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "runtime/data/manifest/manifest_formats.h"

// These templates take nlohmann::json, which headers of this tree don't include. They read lines of
// strangers: a part that is missing or of another kind is nothing, and never an exception.

namespace penstock::runtime {

/// Returns false for a line that nests too deeply to be parsed, which is noted as a fault.
[[nodiscard]] bool is_flat_json(const ManifestReading& reading, const std::string& line,
                                const std::string& where);

/// Notes that a line is no JSON, in the words of the library.
void note_bad_json(const ManifestReading& reading, const std::string& where,
                   const std::string& what);

/// Returns the JSON of a manifest's line. Nothing if it is bad, which is noted as a fault.
template <class Json>
[[nodiscard]] std::optional<Json> json_in_line(const ManifestReading& reading,
                                               const std::string& line, const std::string& where) {
  if (!is_flat_json(reading, line, where)) return std::nullopt;
  try {
    return Json::parse(line);
  } catch (const typename Json::exception& error) {
    note_bad_json(reading, where, error.what());
    return std::nullopt;
  }
}

/// Returns a string of an object.
template <class Json>
[[nodiscard]] std::optional<std::string> string_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->template get<std::string>();
}

/// Returns a finite number of an object.
template <class Json>
[[nodiscard]] std::optional<double> number_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto number = found->template get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// Returns an array or an object within an object; an empty array if there is none.
template <class Json>
[[nodiscard]] const Json& part_in(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_structured() ? *found : kNone;
}

}  // namespace penstock::runtime
