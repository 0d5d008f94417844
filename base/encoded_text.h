#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// These functions write bytes and texts in forms that other programs read back: base64, and words
// of a POSIX shell for commands that are printed to be pasted.

/// Returns the bytes in base64 of RFC 4648, with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Returns the bytes of a base64 text, or nothing if it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

// These functions serve commands that are printed to be pasted into a POSIX shell.

/// Returns `text` within single quotes, in which no character is special to the shell.
[[nodiscard]] std::string shell_quoted(const std::string& text);

/// Returns `text` as one word of a command: unchanged if that is safe, else quoted.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace penstock
