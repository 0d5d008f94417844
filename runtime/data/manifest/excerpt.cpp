#include "runtime/data/manifest/excerpt.h"

#include "base/unicode.h"

// A file that is no manifest may hold anything: a line of hundreds of megabytes, or bytes of
// another encoding. A message shows the beginning of a text alone.

namespace penstock::runtime {

std::string excerpt(std::string_view text, std::size_t bytes) {
  constexpr std::size_t kContinued = 3;  // bytes after the first one of a character, at most
  std::size_t end = text.size();
  if (bytes < end) {
    end = bytes;
    for (std::size_t back = 0; back < kContinued && end > 0 && (text[end] & 0xc0) == 0x80; ++back)
      --end;
  }
  return repaired_utf8(text.substr(0, end));
}

}  // namespace penstock::runtime
