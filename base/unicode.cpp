#include "base/unicode.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/error.h"

namespace penstock {
namespace {

// Length and first bits of a code point, from its first byte.
struct Lead {
  std::size_t bytes;
  char32_t bits, min;  // `min` is the smallest code point that needs so many bytes
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xc0 && byte < 0xe0) return {2, byte & 0x1fu, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {3, byte & 0x0fu, 0x800};
  if (byte >= 0xf0 && byte < 0xf8) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

/// Returns the length of the longest part of `text` that begins some character, at least 1.
std::size_t begun_bytes(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text.front()));
  char32_t bits = lead.bits;
  std::size_t length = 1;
  for (; length < std::min(lead.bytes, text.size()); ++length) {
    const auto next = static_cast<unsigned char>(text[length]);
    if ((next & 0xc0) != 0x80) break;
    bits = bits << 6 | (next & 0x3fu);
    // These are the code points that the rest may complete.
    const auto left = static_cast<int>(6 * (lead.bytes - length - 1));
    const char32_t from = bits << left, to = ((bits + 1) << left) - 1;
    if (to < lead.min || from > 0x10ffff || (from >= 0xd800 && to < 0xe000)) break;
  }
  return length;
}

}  // namespace

DecodedText decode_utf8(std::string_view text) {
  DecodedText out;
  std::size_t at = 0;
  while (at < text.size()) {
    auto [bytes, value, min] = lead_of(static_cast<unsigned char>(text[at]));
    bool good = bytes > 0 && bytes <= text.size() - at;
    for (std::size_t i = 1; good && i < bytes; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      good = (next & 0xc0) == 0x80;
      value = value << 6 | (next & 0x3fu);
    }
    // Overlong forms have a value that fewer bytes could hold. They and surrogates are refused,
    // because two spellings of one character could slip past a comparison of bytes.
    if (!good || value < min || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      out.wrong_byte = at;
      break;
    }
    out.characters += value;
    at += bytes;
  }
  return out;
}

std::u32string from_utf8(std::string_view text) {
  DecodedText decoded = decode_utf8(text);
  if (decoded.wrong_byte)
    throw DataError(fmt::format("not UTF-8 at byte {} of a text", *decoded.wrong_byte));
  return std::move(decoded.characters);
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  const auto continuation = [&](char32_t bits) { out += static_cast<char>(0x80 | (bits & 0x3f)); };
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      continuation(c);
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      continuation(c >> 6);
      continuation(c);
    } else {
      out += static_cast<char>(0xf0 | c >> 18);
      continuation(c >> 12);
      continuation(c >> 6);
      continuation(c);
    }
  }
  return out;
}

// A wrong part is the longest begin of some character: a second byte counts only if one that is
// UTF-8 may have it after such a first byte.
std::string repaired_utf8(std::string_view text) {
  std::string out;
  for (;;) {
    const auto wrong = decode_utf8(text).wrong_byte;
    out += text.substr(0, wrong.value_or(text.size()));
    if (!wrong) return out;
    text.remove_prefix(*wrong);
    out += "\uFFFD";
    text.remove_prefix(begun_bytes(text));
  }
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_white_space(char32_t c) { return is_space(c) && !(c >= 0x1c && c <= 0x1f); }

std::u32string composed(std::u32string_view text, bool compatible) {
  const std::string bytes = to_utf8(text);
  const int form = UTF8PROC_STABLE | UTF8PROC_COMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
      static_cast<utf8proc_ssize_t>(bytes.size()), &made, static_cast<utf8proc_option_t>(form));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(made, std::free);
  if (size < 0)
    throw DataError(fmt::format("a text can't be normalised: {}", utf8proc_errmsg(size)));
  return from_utf8({reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)});
}

char32_t lower_case(char32_t character) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
}

char32_t upper_case(char32_t character) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(character)));
}

bool is_letter(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_number(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

// These are Unicode's categories L, N and M without Me, whose marks enclose a character.
bool is_of_words(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return is_letter(character) || is_number(character) || category == UTF8PROC_CATEGORY_MN ||
         category == UTF8PROC_CATEGORY_MC;
}

}  // namespace penstock
