#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// XXH3-128 as 32 hexadecimal digits, most significant first, as xxhsum prints it.
std::string xxh3_128(std::span<const std::byte> bytes);
std::string xxh3_128(std::string_view text);

}  // namespace penstock
