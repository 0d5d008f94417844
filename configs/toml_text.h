#pragma once

#include <string>
#include <string_view>

namespace penstock::configs {

/// Returns the text as a basic string of TOML, in quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace penstock::configs
