#pragma once

#include <string>

namespace penstock {

// Commands that are printed to be pasted into a POSIX shell.

/// `text` within single quotes, where no character means anything to the shell.
[[nodiscard]] std::string shell_quoted(const std::string& text);

/// `text` as one word of a command: as it is where that is safe, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace penstock
