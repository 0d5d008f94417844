#include "runtime/checkpoint/hash.h"

#include <xxhash.h>

namespace penstock {

std::string xxh3_128(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string xxh3_128(std::string_view text) { return xxh3_128(std::as_bytes(std::span(text))); }

}  // namespace penstock
