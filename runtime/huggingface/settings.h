#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The values of a JSON object and of the objects within it, as JSON text by path:
/// "encoder_config.hidden_size" → "1024". Lists are single values.
using Settings = std::map<std::string, std::string, std::less<>>;

/// Reads the settings of a JSON file. Throws CheckpointError if it is missing or holds no JSON
/// object.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file);

/// Returns the JSON of settings, with nested objects.
[[nodiscard]] std::string to_json_text(const Settings& settings);

/// Returns the JSON of a file with some values replaced, by path. The rest and its order stay.
/// Throws CheckpointError like read_settings().
[[nodiscard]] std::string text_with_settings(const std::filesystem::path& file,
                                             const Settings& changes);

/// True if two JSON texts are the same value: "1e-05" equals "0.00001", and 1 equals 1.0.
[[nodiscard]] bool same_json(std::string_view a, std::string_view b);

/// Describes the kind that a value lacks, such as "a whole number above 0". The kind is that of
/// `example`; every whole example has this one. Returns "" if the value is of the kind.
[[nodiscard]] std::string_view kind_missed(std::string_view json, std::string_view example);

/// Returns a JSON text as plain text, that is, strings without quotes.
[[nodiscard]] std::string plain_text(std::string_view json);

/// Returns the JSON texts of a list's items; none if it is not a list.
[[nodiscard]] std::vector<std::string> items_of_json_list(std::string_view json);

/// Returns the JSON text of a string.
[[nodiscard]] std::string quoted_json(std::string_view text);

}  // namespace penstock::runtime
