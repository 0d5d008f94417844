#pragma once

#include <string>

namespace toml::inline v3 {
class node;  // of toml++ 3
}

namespace penstock::configs {

/// Returns a value as TOML has it after "=", with lists and tables in brackets, such as
/// `[ 0.5, { a = 'x' } ]`. The formatter of toml++ 3.3 is not used for lists: it takes the
/// logarithm of numbers below 1 for a number of columns, which is undefined behaviour.
[[nodiscard]] std::string toml_line(const toml::node& value);

}  // namespace penstock::configs
