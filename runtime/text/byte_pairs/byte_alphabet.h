#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::runtime {

// Vocabularies of byte-level BPE write each byte as one printable character, as GPT-2 does: most
// bytes of Latin-1 as themselves, the others as characters from U+0100 on. A space is "Ġ".

[[nodiscard]] char32_t character_of_byte(unsigned char byte);

/// Returns the byte that a character stands for; nothing if it stands for none.
[[nodiscard]] std::optional<unsigned char> byte_of_character(char32_t character);

/// Returns a token as vocabularies write it: one character for each byte.
[[nodiscard]] std::string token_of_bytes(std::string_view bytes);

/// Returns the bytes that a token stands for: " the" for "Ġthe". A token with a character that
/// stands for no byte, such as an added token with a space, stands for itself. Throws DataError if
/// it is not UTF-8.
[[nodiscard]] std::string bytes_of_token(std::string_view token);

}  // namespace penstock::runtime
