#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Returns the bytes in base64 of RFC 4648, with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Returns the bytes of a base64 text, or nothing if it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace penstock
