#include "runtime/text/utf8.h"

#include <utility>

#include "layers/tensor/error.h"

namespace penstock {

std::u32string from_utf8(std::string_view text) {
  DecodedText decoded = decode_utf8(text);
  if (decoded.wrong_byte)
    throw DataError("not UTF-8 at byte " + std::to_string(*decoded.wrong_byte) + " of a text");
  return std::move(decoded.characters);
}

}  // namespace penstock
