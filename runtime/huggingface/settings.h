#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The values of a JSON object and of the objects within it, each by its path and as JSON text:
/// "encoder_config.hidden_size" → "1024". Lists stay whole.
using Settings = std::map<std::string, std::string, std::less<>>;

/// The settings of a JSON file. CheckpointError if it is missing, or holds no JSON object.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file);

/// JSON of settings, objects within objects again.
[[nodiscard]] std::string to_json_text(const Settings& settings);

/// The JSON of a file with other values, each by its path. All else stays as it is, in its order.
/// CheckpointError as read_settings().
[[nodiscard]] std::string text_with_settings(const std::filesystem::path& file,
                                             const Settings& changes);

/// Whether two JSON texts are one value: "1e-05" is "0.00001", and 1 is 1.0.
[[nodiscard]] bool same_json(std::string_view a, std::string_view b);

/// What a value must be to be of an example's kind, such as "a whole number above 0", of which
/// every whole example is. Empty: it is that.
[[nodiscard]] std::string_view kind_missed(std::string_view json, std::string_view example);

/// A JSON text as plain text: strings lose their quotes.
[[nodiscard]] std::string plain_text(std::string_view json);

/// The JSON texts of a list's items; none of what is no list.
[[nodiscard]] std::vector<std::string> items_of_json_list(std::string_view json);

/// The JSON text of a string.
[[nodiscard]] std::string quoted_json(std::string_view text);

}  // namespace penstock::runtime
