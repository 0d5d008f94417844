#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Returns the SHA-256 of the bytes as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);

/// Returns the MD5 of the bytes, 16 bytes. Stores name objects and check uploads by it; nothing is
/// kept secret by it.
[[nodiscard]] std::string md5(std::span<const std::byte> bytes);

/// Returns the bytes as hexadecimal digits.
[[nodiscard]] std::string to_hex(std::string_view bytes);

/// Returns the bytes in base 64.
[[nodiscard]] std::string to_base64(std::string_view bytes);

}  // namespace penstock::runtime
