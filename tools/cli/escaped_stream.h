#pragma once

#include <iosfwd>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace penstock::tools {

// Names and texts of files, host names and paths may hold control sequences, which would move a
// terminal's cursor or recolour or overwrite earlier output. So everything that the program writes
// passes through one filter, which spells control characters out. Control sequences of penstock
// itself bypass the filter as Unescaped.

/// Returns the text with control characters spelt out, as \x1b or \u009b, and bytes that are not
/// UTF-8, as \xff. Ends of lines and tabs stay.
[[nodiscard]] std::string escaped(std::string_view text);

/// Escapes all that is written to a stream, for as long as the object lives.
class [[nodiscard]] EscapedStream {
 public:
  explicit EscapedStream(std::ostream& stream);
  EscapedStream(const EscapedStream&) = delete;
  EscapedStream& operator=(const EscapedStream&) = delete;
  ~EscapedStream();

 private:
  std::ostream& stream_;
  std::streambuf* before_;
  std::unique_ptr<std::streambuf> filter_;
};

/// A text of penstock itself with control sequences for a terminal: `stream << Unescaped{text}`.
struct Unescaped {
  std::string_view text;
};
std::ostream& operator<<(std::ostream& stream, const Unescaped& unescaped);

}  // namespace penstock::tools
