#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {

/// Returns the JSON of a manifest's line. Nothing if it is bad, which is noted as a fault.
[[nodiscard]] std::optional<nlohmann::json> json_in_line(const ManifestReading& reading,
                                                         const std::string& line,
                                                         const std::string& where);

/// Returns a string of an object; nothing if it is missing, or not a string.
[[nodiscard]] std::optional<std::string> string_in(const nlohmann::json& object, const char* key);

/// Returns a finite number of an object; nothing if it is missing, or not a number.
[[nodiscard]] std::optional<double> number_in(const nlohmann::json& object, const char* key);

/// Returns an array or an object within an object; an empty array if there is none.
[[nodiscard]] const nlohmann::json& part_in(const nlohmann::json& object, const char* key);

}  // namespace penstock::runtime
