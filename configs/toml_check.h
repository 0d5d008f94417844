#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::configs {

/// The deepest nesting of TOML that penstock reads, counted in parts of keys and in brackets:
/// a.b = [1] has three.
inline constexpr std::size_t kDeepestKeys = 128;

/// A TomlFault says what is wrong with a TOML text, and where.
struct TomlFault {
  int line = 0;  // from 1
  std::string what;
};

/// Returns what toml++ 3.3 must not be given, if the text has any of it. Other faults are left to
/// toml++, and the text need not be TOML.
/// - Values that nest deeper than kDeepestKeys: tables are destroyed by recursion.
/// - A character beyond ASCII outside strings and comments, a table's header that begins with what
///   begins no key, and a quote within a word. All are against TOML, and toml++ looks at them with
///   undefined behaviour.
[[nodiscard]] std::optional<TomlFault> find_toml_fault(std::string_view text);

}  // namespace penstock::configs
