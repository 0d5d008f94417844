#include "configs/toml_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/unicode.h"

// The check passes over a text once. It follows strings and comments, in which nothing counts, and
// keeps a stack of open brackets. A value's depth is that of the brackets around it, each with the
// points of the key before it, and the points of its own key.
//
// Words end elsewhere in keys than in values. toml++ takes 0.'é' for a key of two parts, but as a
// value for one word, whose quotes begin no string. In strings of several lines, toml++ asks of
// what follows a backslash whether it is a blank, and for some characters runs into an unreachable
// place (is_non_ascii_horizontal_whitespace() of 3.3).

namespace penstock::configs {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";  // the byte order mark

bool begins_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

/// Returns true for a character of which toml++ can't tell whether it is a blank.
bool puzzles(char32_t c) {
  const bool blank = c == 0xA0 || c == 0x3000 || c == 0xFEFF;
  const bool in_range =
      (c >= 0xA0 && c <= 0x499) || (c >= 0x2C5E && c <= 0x3057) || (c >= 0xFB26 && c <= 0xFEFF);
  return in_range && !blank;
}

/// Returns the character at the beginning of a text; 0 if it is ASCII or no UTF-8.
char32_t leading_character(std::string_view text) {
  const unsigned lead = text.empty() ? 0 : static_cast<unsigned char>(text.front());
  if (lead < 0xC0) return 0;
  const DecodedText decoded = decode_utf8(text.substr(0, lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4));
  return decoded.wrong_byte || decoded.characters.empty() ? 0 : decoded.characters.front();
}

class TomlCheck {
 public:
  explicit TomlCheck(std::string_view text) : text_(text) {
    if (text.starts_with(kMark)) at_ = begin_ = kMark.size();
  }

  std::optional<TomlFault> run() {
    bool line_begins = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (line_begins && c == '[' && open_.empty() && !header_begins_key())
        return fault("a table's name begins with a letter, a digit, _, - or a quote");
      if ((c == '"' || c == '\'') && within_word()) return fault("a quote stands within a word");
      if ((c & 0x80) != 0)
        return fault("a character beyond ASCII stands outside strings and comments");
      line_begins = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
      if (const std::string_view wrong = take(c); !wrong.empty()) return fault(std::string(wrong));
      if (around_ + points_ > kDeepestKeys)
        return fault(fmt::format("keys and values nest deeper than {}", kDeepestKeys));
    }
    return std::nullopt;
  }

 private:
  TomlFault fault(std::string what) const {
    const auto lines =
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    return {static_cast<int>(lines) + 1, std::move(what)};
  }

  /// Returns true if no string can begin here, as the character before belongs to a word. toml++
  /// passes over words to their end, quotes included.
  bool within_word() const {
    constexpr std::string_view kBefore = " \t\r\n=,[{.";
    if (at_ == begin_) return false;
    return in_value_word_ || kBefore.find(text_[at_ - 1]) == std::string_view::npos;
  }

  /// Notes where values and their words begin and end.
  void follow_values(char c) {
    constexpr std::string_view kWordEnds = " \t\r\n,]}", kValueBegins = "=[{";
    if (kWordEnds.find(c) != std::string_view::npos)
      in_value_word_ = false;
    else if (in_value_ && kValueBegins.find(c) == std::string_view::npos)
      in_value_word_ = true;
    if (c == '=') in_value_ = true;
    if (c == '{') in_value_ = false;
    if (c == '\n' && open_.empty()) in_value_ = false;
    if (c == ',' && !open_.empty()) in_value_ = open_.back().holds_values;
  }

  /// Returns true if a key, or the end of the header, stands after its one or two brackets.
  bool header_begins_key() const {
    std::size_t at = at_ + 1;
    const auto pass_blanks = [&] {
      at = std::min(text_.find_first_not_of(" \t", at), text_.size());
    };
    pass_blanks();
    if (at < text_.size() && text_[at] == '[') {
      ++at;
      pass_blanks();
    }
    return at == text_.size() || text_[at] == ']' || begins_key(text_[at]);
  }

  /// Moves past a character, or past the string or comment that it begins. Returns the fault
  /// of the string, or "".
  std::string_view take(char c) {
    if (c == '"' || c == '\'') return pass_string(c);
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return {};
    }
    ++at_;
    if (c == '.') ++points_;
    follow_values(c);
    if (c == '[' || c == '{') {
      open_.push_back({points_, in_value_});
      around_ += points_ + 1;
    }
    if ((c == ']' || c == '}') && !open_.empty()) {
      around_ -= open_.back().points + 1;
      open_.pop_back();
    }
    constexpr std::string_view kEnds = "\n,[]{}";
    if (kEnds.find(c) != std::string_view::npos) points_ = 0;
    return {};
  }

  std::string_view pass_string(char quote) {
    const bool lines = quotes_at(at_, quote) >= 3, escapes = quote == '"';
    at_ += lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (escapes && c == '\\') {
        if (const std::string_view wrong = pass_escape(lines); !wrong.empty()) return wrong;
        continue;
      }
      if (!lines && c == '\n') return {};  // not closed, which is toml++'s to say
      const std::size_t quotes = c == quote ? quotes_at(at_, quote) : 0;
      if (quotes >= (lines ? 3 : 1)) {
        at_ += lines ? std::min<std::size_t>(quotes, 5) : 1;  // up to two are the string's own
        return {};
      }
      ++at_;
    }
    return {};
  }

  /// Moves past a backslash and what it escapes: a character or, in a string of several lines, the
  /// blanks up to the next one.
  std::string_view pass_escape(bool lines) {
    const std::size_t escaped = ++at_;
    if (lines) at_ = std::min(text_.find_first_not_of(" \t\r\n\v\f", at_), text_.size());
    if (lines && puzzles(leading_character(text_.substr(at_))))
      return at_ == escaped ? R"(a backslash stands before a letter: write \\ for a backslash)"
                            : "a line begins with a letter beyond ASCII after a line that ends in "
                              "a backslash: join the two lines";
    if (at_ == escaped) at_ = std::min(at_ + 1, text_.size());
    return {};
  }

  std::size_t quotes_at(std::size_t at, char quote) const {
    return std::min(text_.find_first_not_of(quote, at), text_.size()) - at;
  }

  struct Bracket {
    std::size_t points;  // of the key before it
    bool holds_values;   // true for an array's; a table's and a header's hold keys
  };

  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  std::vector<Bracket> open_;
  bool in_value_ = false, in_value_word_ = false;
  std::size_t around_ = 0, points_ = 0;  // depth of the open brackets; points of the present key
};

}  // namespace

std::optional<TomlFault> find_toml_fault(std::string_view text) { return TomlCheck(text).run(); }

}  // namespace penstock::configs
