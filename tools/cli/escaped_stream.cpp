#include "tools/cli/escaped_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/unicode.h"

// The filter is a stream buffer that stands in front of the real one. Text may arrive in pieces
// that cut a character in two, so up to three bytes wait for the rest of it; all else is passed on
// in the same call, so that a crash loses nothing. What is not UTF-8 is spelt out byte by byte: a
// terminal must not guess an encoding in which the bytes are control characters.

namespace penstock::tools {
namespace {

/// Returns true for the control characters of ASCII and Latin-1 but for ends of lines and tabs. A
/// terminal may act on either kind: 0x9b begins a sequence as ESC [ does.
bool controls(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
}

/// Returns the number of bytes at the end that may begin an incomplete character.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return whole > back ? back : 0;
  }
  return 0;
}

/// Escapes what is written and passes it on at once, except the first bytes of an incomplete
/// character.
class Filter : public std::streambuf {
 public:
  explicit Filter(std::streambuf& to) : to_(to) {}
  ~Filter() override { (void)pass(escaped(begun_)); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  std::streambuf& unfiltered() { return to_; }

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    begun_.append(bytes, static_cast<std::size_t>(count));
    const std::size_t whole = begun_.size() - unfinished(begun_);
    const std::string text = escaped(std::string_view(begun_).substr(0, whole));
    begun_.erase(0, whole);
    return pass(text) ? count : 0;
  }
  // Single characters take the same way as texts, since this buffer holds none of its own.
  int_type overflow(int_type byte) override {
    if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
    const char one = traits_type::to_char_type(byte);
    return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
  }
  int sync() override { return to_.pubsync(); }

 private:
  bool pass(const std::string& text) {
    const auto size = static_cast<std::streamsize>(text.size());
    return to_.sputn(text.data(), size) == size;
  }

  std::streambuf& to_;
  std::string begun_;
};

}  // namespace

// Decoding stops at the first byte that is no UTF-8. That byte is spelt out, and decoding goes on
// after it, so one wrong byte costs no other character.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const DecodedText decoded = decode_utf8(text);
    for (const char32_t c : decoded.characters) {
      if (!controls(c))
        out += to_utf8({&c, 1});
      else if (c < 0x80)
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
      else
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    }
    if (!decoded.wrong_byte) break;
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[*decoded.wrong_byte]));
    text.remove_prefix(*decoded.wrong_byte + 1);
  }
  return out;
}

EscapedStream::EscapedStream(std::ostream& stream)
    : stream_(stream), before_(stream.rdbuf()), filter_(std::make_unique<Filter>(*before_)) {
  stream_.rdbuf(filter_.get());
}

EscapedStream::~EscapedStream() {
  stream_.flush();
  stream_.rdbuf(before_);
}

std::ostream& operator<<(std::ostream& stream, const Unescaped& unescaped) {
  auto* const filter = dynamic_cast<Filter*>(stream.rdbuf());
  if (filter == nullptr) return stream << unescaped.text;
  const auto size = static_cast<std::streamsize>(unescaped.text.size());
  if (filter->unfiltered().sputn(unescaped.text.data(), size) != size)
    stream.setstate(std::ios::badbit);
  return stream;
}

}  // namespace penstock::tools
