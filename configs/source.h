#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::configs {

/// A key and its value as written in a file or an argument, before either is checked.
struct Setting {
  std::string key;      // "<section>.<key>", by its present name
  std::string written;  // the name as given, which may be an earlier one
  std::string text;     // plain text, as value_text() writes it
  std::string shown;    // as the file writes it, for messages
  std::string where;    // "recipe.toml:12", "command line"
  int line = 0;         // line in a file
  /// Type of the value in the file's syntax. Values of a command line are untyped.
  enum class Kind {
    untyped,
    text,
    boolean,
    whole,
    number,
    list,   // list of numbers, or of names
    array,  // list of anything else
    other,
  } kind = Kind::untyped;
};

/// Returns the settings of a TOML file's sections. `faults` receives what no configuration may
/// have: bad syntax, keys outside sections, and keys that the file gives by two of their names.
[[nodiscard]] std::vector<Setting> settings_of_toml(const std::string& text,
                                                    const std::string& name,
                                                    std::vector<std::string>& faults);

/// Returns the settings of "key=value" arguments; `faults` as above.
[[nodiscard]] std::vector<Setting> settings_of_overrides(std::span<const std::string> overrides,
                                                         std::vector<std::string>& faults);

/// Returns the contents of a file, or nothing if it can't be read.
[[nodiscard]] std::optional<std::string> file_text(const std::filesystem::path& file);

}  // namespace penstock::configs
