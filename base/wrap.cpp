#include "base/wrap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace penstock {

// A line that is too wide is filled greedily with parts that never break. A part is a unit: words
// that must stay together, such as a number and its unit of measure. Only a unit that is itself too
// wide is split into words, and only a word that is too wide into pieces.

namespace {

using Words = std::vector<std::string_view>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Words split(std::string_view text, char at) {
  Words parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Returns true for numbers such as "16", "1,024", "-0.5".
bool is_number(std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && is_digit(word.front()) && is_digit(word.back()) &&
         word.find_first_not_of("0123456789.,") == std::string_view::npos;
}

/// Returns true for signs that may stand before a number.
bool is_sign(std::string_view word) {
  constexpr std::string_view signs[] = {"×", "≥", "≤", "≈", "±", "→", "|", "+", "=", "<", ">"};
  return std::ranges::find(signs, word) != std::end(signs);
}

/// Returns true if two words of a line must stay together.
bool stay(std::string_view word, std::string_view next) {
  if (is_number(word)) return !is_digit(next.front());
  return text_width(word) == 1;
}

/// Returns the units of a line: words joined with the words that must stay with them.
Words units(std::string_view line) {
  Words units;
  std::string_view before;
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    if (!before.empty() && stay(before, word)) {
      const char* begin = units.back().data();
      units.back() = {begin, static_cast<std::size_t>(word.data() + word.size() - begin)};
    } else {
      units.push_back(word);
    }
    before = word;
  }
  return units;
}

/// Returns the parts of a word between which it may break.
Words pieces(std::string_view word) {
  constexpr std::string_view breaks = ",-+/.:_";
  Words pieces;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto is_break = [&](char c) { return breaks.find(c) != std::string_view::npos; };
    const bool in_number = i > 1 && is_digit(word[i - 2]) && is_digit(word[i]);
    if (!is_break(word[i - 1]) || is_break(word[i]) || in_number) continue;
    pieces.push_back(word.substr(begin, i - begin));
    begin = i;
  }
  pieces.push_back(word.substr(begin));
  return pieces;
}

/// Calls use(part, gap) for the parts of a line that never break: units of up to `whole` columns,
/// the words of wider units, and the pieces of still wider words. The gap stands before a part
/// unless the part begins a line.
template <class Use>
void for_parts(std::string_view line, std::size_t whole, const Use& use) {
  const auto add_word = [&](std::string_view word) {
    std::string_view gap = " ";
    for (const std::string_view piece : text_width(word) <= whole ? Words{word} : pieces(word))
      use(piece, std::exchange(gap, ""));
  };
  for (const std::string_view unit : units(line)) {
    if (text_width(unit) <= whole)
      use(unit, " ");
    else
      for (const std::string_view word : split(unit, ' ')) add_word(word);
  }
}

}  // namespace

// Every code point counts as one column: all bytes but the continuation bytes of UTF-8.
std::size_t text_width(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_quantity(std::string_view text) {
  if (text == "–") return true;
  bool any = false, number = false;  // true if the previous word is a number
  for (const std::string_view word : split(text, ' ')) {
    if (is_number(word)) {
      if (number) return false;  // two numbers in a row
      any = number = true;
    } else if (number && text_width(word) <= 5 && !is_sign(word)) {
      number = false;  // the unit of a number
    } else if (any || !is_sign(word)) {
      return false;
    }
  }
  return any;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view part, std::string_view gap) {
    std::string& line = lines.back();
    if (line.empty())
      line = part;
    else if (text_width(line) + gap.size() + text_width(part) <= columns)
      line.append(gap).append(part);
    else
      lines.emplace_back(part);
  };
  for (const std::string_view line : split(text, '\n')) {
    lines.emplace_back();
    if (text_width(line) <= columns)
      lines.back() = line;
    else
      for_parts(line, columns, add);
  }
  return lines;
}

std::size_t min_width(std::string_view text, std::size_t whole) {
  std::size_t min = 0;
  for (const std::string_view line : split(text, '\n'))
    for_parts(line, whole, [&](std::string_view part, std::string_view) {
      min = std::max(min, text_width(part));
    });
  return min;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  const std::vector<std::string> lines = wrap(text, columns - std::min(columns, indent));
  return fmt::format("{}", fmt::join(lines, '\n' + std::string(indent, ' ')));
}

}  // namespace penstock
