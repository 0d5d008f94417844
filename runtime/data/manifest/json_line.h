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

/// Returns the format of Lhotse's whose first line this is; nothing if it is of none.
template <class Json>
[[nodiscard]] std::optional<ManifestFormat> lhotse_format(const Json& line) {
  const auto has = [&](const char* key) { return line.contains(key); };
  if (!line.is_object() || has("audio_filepath")) return std::nullopt;
  if (has("tracks") || string_in(line, "type").value_or("").ends_with("Cut") ||
      (has("supervisions") && has("start")))
    return ManifestFormat::lhotse_cuts;
  if (has("sources") && has("sampling_rate")) return ManifestFormat::lhotse_recordings;
  if (has("recording_id") && has("start") && has("duration"))
    return ManifestFormat::lhotse_supervisions;
  return std::nullopt;
}

/// Returns true for a line of The People's Speech.
template <class Json>
[[nodiscard]] bool is_peoples_speech(const Json& line) {
  return part_in(line, "training_data").is_object();
}

}  // namespace penstock::runtime
