#include "tests/support/tree/functions.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

namespace penstock::test {
namespace {

constexpr std::size_t kLongestName = 100;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// The file's code without lines for the preprocessor.
std::string text_of(const SourceFile& file) {
  std::string text;
  bool directive = false;  // and what follows a backslash at its end
  for (const std::string& line : file.code) {
    const auto first = std::ranges::find_if_not(line, is_space);
    directive = directive || (first != line.end() && *first == '#');
    if (!directive) text += line;
    text += '\n';
    directive = directive && line.ends_with('\\');
  }
  return text;
}

/// After the bracket that closes the one at `open`; the text's end if none does.
std::size_t behind_bracket(const std::string& text, std::size_t open) {
  const char opening = text[open];
  const char closing = opening == '(' ? ')' : opening == '{' ? '}' : opening == '[' ? ']' : '>';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    if (text[i] == closing && (closing != '>' || text[i - 1] != '-') && --depth == 0) return i + 1;
  }
  return text.size();
}

/// How many parameters stand in "(…)".
std::size_t count_parameters(const std::string& text) {
  const std::string inner = text.substr(1, text.size() - 2);
  if (std::ranges::all_of(inner, is_space)) return 0;
  std::size_t count = 1;
  int depth = 0;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const char c = inner[i];
    const bool arrow = c == '>' && i > 0 && inner[i - 1] == '-';
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && !arrow)) --depth;
    if (c == ',' && depth == 0) ++count;
  }
  return count;
}

/// "template <…>" at the beginning of a head, blanked.
std::string without_templates(std::string head) {
  static const std::regex start(R"(^\s*template\s*<)");
  for (std::smatch match; std::regex_search(head, match, start);) {
    const auto end = behind_bracket(head, static_cast<std::size_t>(match.length()) - 1);
    std::fill_n(head.begin(), end, ' ');
  }
  return head;
}

/// Reads what stands before a brace or semicolon as a function's name and parameters. Returns
/// nothing if it is something else: a class, a variable, an alias, a macro's call.
std::optional<Function> read_head(const std::string& text) {
  static const std::regex other(
      R"(^\s*(class|struct|union|enum|namespace|using|typedef|friend\s+class|static_assert)\b)");
  static const std::regex attribute(
      R"((^|[^\w])(decltype|alignas|noexcept|requires|explicit|__launch_bounds__|__attribute__)$)");
  static const std::regex name_at_end(
      R"(((\w+(<[^()]*>)?::)*(operator\s*(\(\s*\)|[^\w\s]+|[\w:<>*& ]+)|~?\w+))\s*$)");
  static const std::regex call_operator(R"(operator\s*$)");
  const std::string head = without_templates(text);
  if (std::regex_search(head, other)) return std::nullopt;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '(' && std::regex_search(head.substr(0, i), call_operator)) {
      i = head.find(')', i);
      continue;
    }
    const bool value = head[i] == '=' && head.substr(0, i).find("operator") == std::string::npos;
    if (value || head[i] == '{') return std::nullopt;
    if (head[i] != '(') continue;
    const std::size_t end = behind_bracket(head, i);
    std::string before = head.substr(i - std::min(i, kLongestName), std::min(i, kLongestName));
    while (!before.empty() && is_space(before.back())) before.pop_back();
    std::smatch match;
    if (std::regex_search(before, attribute)) {
      i = end - 1;
      continue;
    }
    if (!std::regex_search(before, match, name_at_end)) return std::nullopt;
    return Function{match[1], 0, 0, count_parameters(head.substr(i, end - i))};
  }
  return std::nullopt;
}

/// Whether a brace after `head` is around a member's initial value: "a_(x), b_" of a constructor.
bool initialises_member(const std::string& head) {
  static const std::regex list(R"(\)\s*(noexcept\s*)?:[^:])");
  static const std::regex member(R"([\w>]\s*$)");
  return std::regex_search(head, list) && std::regex_search(head, member);
}

class Reader {
 public:
  explicit Reader(const SourceFile& file) : text_(text_of(file)) {}

  std::vector<Function> read() {
    while (at_ < text_.size()) next();
    return std::move(functions_);
  }

 private:
  /// One character, or all within brackets.
  void next() {
    const char c = text_[at_];
    if (c == '(' || c == '[') {
      at_ = behind_bracket(text_, at_);
    } else if (c == '{') {
      brace();
    } else if (c == ';') {
      if (const auto function = read_head(head())) add(*function, at_);
      start_ = ++at_;
    } else if (c == '}' || ends_access()) {
      start_ = ++at_;
    } else {
      ++at_;
    }
  }

  void brace() {
    static const std::regex scope(R"((^|\s)(class|struct|union|namespace|extern)\b)");
    const std::string before = head();
    const std::size_t end = behind_bracket(text_, at_);
    const auto function = read_head(before);
    if (function && initialises_member(before)) {
      at_ = end;
    } else if (function) {
      add(*function, end - 1);
      start_ = at_ = end;
    } else if (std::regex_search(without_templates(before), scope) &&
               before.find('=') == std::string::npos) {
      start_ = ++at_;
    } else {
      at_ = end;  // an enumeration's or a variable's
    }
  }

  /// The colon of "public:".
  bool ends_access() const {
    static const std::regex access(R"(^\s*(public|protected|private)\s*$)");
    return text_[at_] == ':' && std::regex_search(head(), access);
  }

  std::string head() const { return text_.substr(start_, at_ - start_); }

  std::size_t line_of(std::size_t place) const {
    return 1 + static_cast<std::size_t>(std::count(
                   text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
  }

  void add(Function function, std::size_t last) {
    std::size_t first = start_;
    while (is_space(text_[first])) ++first;
    function.line = line_of(first);
    function.lines = line_of(last) - function.line + 1;
    functions_.push_back(function);
  }

  std::string text_;
  std::size_t at_ = 0, start_ = 0;  // start_: after the last statement
  std::vector<Function> functions_;
};

}  // namespace

std::vector<Function> functions_of(const SourceFile& file) { return Reader(file).read(); }

}  // namespace penstock::test
