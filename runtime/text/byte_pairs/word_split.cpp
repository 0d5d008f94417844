#include "runtime/text/byte_pairs/word_split.h"

#include <algorithm>
#include <cstddef>

#include "base/unicode.h"

// The two expressions are matched by hand, one alternative after the other as they stand:
//
//   GPT-2   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   Qwen2   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|
//           ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+        (after a space and '?')
//
// Each character belongs to one of three classes, letters, numbers and white space, or to none of
// them, and each alternative is a run of one class. So no alternative goes back by more than one
// character, and the cost is linear.

namespace penstock::runtime {
namespace {

using Text = std::u32string_view;

enum class Class { letter, number, space, other };

Class class_of(char32_t c) {
  if (is_letter(c)) return Class::letter;
  if (is_number(c)) return Class::number;
  return is_white_space(c) ? Class::space : Class::other;
}

bool is_line_end(char32_t c) { return c == U'\r' || c == U'\n'; }

/// Returns the end of the run of characters of a class that begins at `at`.
std::size_t end_of_run(Text text, std::size_t at, Class wanted) {
  while (at < text.size() && class_of(text[at]) == wanted) ++at;
  return at;
}

/// Returns the end of an English contraction that begins at `at`, or `at`. In any case, 'ſ is 's.
std::size_t end_of_contraction(Text text, std::size_t at, bool any_case) {
  constexpr Text kEnds[] = {U"s", U"t", U"re", U"ve", U"m", U"ll", U"d"};
  if (text[at] != U'\'') return at;
  for (const Text end : kEnds) {
    const Text found = text.substr(at + 1, end.size());
    const bool same = std::ranges::equal(found, end, [&](char32_t c, char32_t wanted) {
      if (!any_case) return c == wanted;
      return c == wanted || c + 32 == wanted || (c == U'\u017f' && wanted == U's');
    });
    if (same) return at + 1 + end.size();
  }
  return at;
}

/// Matches \s+(?!\S)|\s+: white space before a word leaves its last character to the word.
std::size_t end_of_space(Text text, std::size_t at) {
  const std::size_t end = end_of_run(text, at, Class::space);
  return end == text.size() || end - at == 1 ? end : end - 1;
}

std::size_t end_of_gpt2_word(Text text, std::size_t at) {
  if (const std::size_t end = end_of_contraction(text, at, false); end > at) return end;
  const std::size_t begin = text[at] == U' ' && at + 1 < text.size() ? at + 1 : at;
  const Class found = class_of(text[begin]);
  return found == Class::space ? end_of_space(text, at) : end_of_run(text, begin, found);
}

/// Matches \s*[\r\n]+ and what follows it in Qwen2's expression.
std::size_t end_of_lines(Text text, std::size_t at) {
  std::size_t end = end_of_run(text, at, Class::space);
  while (end > at && !is_line_end(text[end - 1])) --end;
  return end > at ? end : end_of_space(text, at);
}

std::size_t end_of_qwen2_word(Text text, std::size_t at) {
  if (const std::size_t end = end_of_contraction(text, at, true); end > at) return end;
  const Class found = class_of(text[at]);
  const bool more = at + 1 < text.size();
  if (found == Class::letter) return end_of_run(text, at, Class::letter);
  if (found == Class::number) return at + 1;
  if (more && !is_line_end(text[at]) && class_of(text[at + 1]) == Class::letter)
    return end_of_run(text, at + 1, Class::letter);
  const std::size_t begin = text[at] == U' ' && more ? at + 1 : at;
  if (class_of(text[begin]) != Class::other) return end_of_lines(text, at);
  std::size_t end = end_of_run(text, begin, Class::other);
  while (end < text.size() && is_line_end(text[end])) ++end;
  return end;
}

}  // namespace

std::vector<Text> split_words(Text text, WordSplit split) {
  std::vector<Text> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end =
        split == WordSplit::gpt2 ? end_of_gpt2_word(text, at) : end_of_qwen2_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace penstock::runtime
