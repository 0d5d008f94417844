#pragma once

#include <string>

namespace penstock {

// These functions serve commands that are printed to be pasted into a POSIX shell.

/// Returns `text` within single quotes, in which no character is special to the shell.
[[nodiscard]] std::string shell_quoted(const std::string& text);

/// Returns `text` as one word of a command: unchanged if that is safe, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace penstock
