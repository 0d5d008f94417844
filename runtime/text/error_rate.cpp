#include "runtime/text/error_rate.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/unicode.h"

namespace penstock::runtime {
namespace {

std::u32string_view trimmed(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Splits trimmed text into words. A run of white space separates words, and so does a single ' '.
// Another single white-space character does not, because jiwer replaces only runs.
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  std::size_t begin = 0, at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && is_space(text[end])) ++end;
    if (end - at > 1 || text[at] == U' ') {
      words.push_back(text.substr(begin, at - begin));
      begin = end;
    }
    at = std::max(end, at + 1);
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

// Computes Levenshtein's distance in O(rows × columns) time with one row of memory. d(i, j) is the
// distance between the first i and the first j units:
//   d(i, 0) = i, d(0, j) = j
//   d(i + 1, j + 1) = min(d(i, j) + (units i and j differ), d(i + 1, j) + 1, d(i, j + 1) + 1)
// row[0 … j] holds d(i + 1, ·), the rest still holds d(i, ·), and `diagonal` is d(i, j).
template <class Units>
EditCount count(const Units& reference, const Units& hypothesis) {
  std::vector<std::int64_t> row(hypothesis.size() + 1);
  std::iota(row.begin(), row.end(), std::int64_t{0});
  for (std::size_t i = 0; i < reference.size(); ++i) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 0; j < hypothesis.size(); ++j) {
      const std::int64_t substituted = diagonal + (reference[i] == hypothesis[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return {row.back(), static_cast<std::int64_t>(reference.size())};
}

}  // namespace

// An empty reference counts as one unit, so that insertions into it count and nothing divides by 0.
double EditCount::rate() const {
  return static_cast<double>(edits) / static_cast<double>(std::max(reference, std::int64_t{1}));
}

EditCount& EditCount::operator+=(const EditCount& other) {
  edits += other.edits;
  reference += other.reference;
  return *this;
}

ErrorCount& ErrorCount::operator+=(const ErrorCount& other) {
  words += other.words;
  characters += other.characters;
  return *this;
}

ErrorCount count_errors(std::string_view reference, std::string_view hypothesis) {
  const std::u32string whole_reference = from_utf8(reference);
  const std::u32string whole_hypothesis = from_utf8(hypothesis);
  const std::u32string_view r = trimmed(whole_reference), h = trimmed(whole_hypothesis);
  return {count(words_of(r), words_of(h)), count(r, h)};
}

}  // namespace penstock::runtime
