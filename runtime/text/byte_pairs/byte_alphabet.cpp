#include "runtime/text/byte_pairs/byte_alphabet.h"

#include <array>

#include "base/unicode.h"

namespace penstock::runtime {
namespace {

constexpr int kBytes = 256;

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
         (byte >= 0xae && byte <= 0xff);
}

constexpr std::array<char32_t, kBytes> characters_of_bytes() {
  std::array<char32_t, kBytes> characters{};
  char32_t next = U'\u0100';
  for (int byte = 0; byte < kBytes; ++byte)
    characters[static_cast<std::size_t>(byte)] =
        stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return characters;
}

constexpr std::array<char32_t, kBytes> kCharacters = characters_of_bytes();

constexpr std::size_t kEnd = 0x100 + 68;  // 68 bytes do not stand for themselves

/// The reverse of kCharacters; -1 for characters that stand for no byte.
constexpr std::array<int, kEnd> bytes_of_characters() {
  std::array<int, kEnd> bytes{};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < kBytes; ++byte)
    bytes[kCharacters[byte]] = static_cast<int>(byte);
  return bytes;
}

constexpr std::array<int, kEnd> kByteValues = bytes_of_characters();

}  // namespace

char32_t character_of_byte(unsigned char byte) { return kCharacters[byte]; }

std::optional<unsigned char> byte_of_character(char32_t character) {
  if (character >= kEnd || kByteValues[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kByteValues[character]);
}

std::string token_of_bytes(std::string_view bytes) {
  std::u32string token;
  for (const char byte : bytes) token += character_of_byte(static_cast<unsigned char>(byte));
  return to_utf8(token);
}

std::string bytes_of_token(std::string_view token) {
  std::string bytes;
  for (const char32_t character : from_utf8(token)) {
    const auto byte = byte_of_character(character);
    if (!byte) return std::string(token);
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace penstock::runtime
