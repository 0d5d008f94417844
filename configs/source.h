#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::configs {

/// A key and its value as written somewhere, before anything is known of either.
struct Setting {
  std::string key;      // "<section>.<key>", by its present name
  std::string written;  // by the name that it was given, which may be an earlier one
  std::string text;     // plain, as value_text() writes it
  std::string shown;    // as the file writes it, for messages
  std::string where;    // "recipe.toml:12", "command line"
  int line = 0;         // of a file
  /// What kind of value a file's syntax made it; a command line leaves that to the key.
  enum class Kind {
    untyped,
    text,
    boolean,
    whole,
    number,
    list,   // of numbers, or of names
    array,  // of anything else
    other,
  } kind = Kind::untyped;
};

/// Settings of a TOML file's sections. `faults` receives what has no place in any configuration:
/// bad syntax, keys outside sections, and a key that stands there by two of its names.
[[nodiscard]] std::vector<Setting> settings_of_toml(const std::string& text,
                                                    const std::string& name,
                                                    std::vector<std::string>& faults);

/// Settings of "key=value" arguments; `faults` as above.
[[nodiscard]] std::vector<Setting> settings_of_overrides(std::span<const std::string> overrides,
                                                         std::vector<std::string>& faults);

/// Those of a file (none if empty), then those of the arguments.
[[nodiscard]] std::vector<Setting> settings_of(const std::filesystem::path& file,
                                               std::span<const std::string> overrides,
                                               std::vector<std::string>& faults);

/// A whole file, or nothing if it can't be read.
[[nodiscard]] std::optional<std::string> file_text(const std::filesystem::path& file);

}  // namespace penstock::configs
