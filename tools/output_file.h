#pragma once

#include <string>

namespace penstock {

/// Writes `text` to a file that the user named, whole or not at all. ConfigError if it can't.
void write_output(const std::string& path, const std::string& text);

}  // namespace penstock
