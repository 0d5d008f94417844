#include "runtime/data/manifest/stm_line.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.h"

// TED-LIUM's texts have marks that are not spoken: <sil>, <unk> for a word that is not known,
// {NOISE} or [NOISE], and word(2) for a second pronunciation. They also divide words before an
// apostrophe: "they 're". Lhotse's normalize_text_tedlium(text, "kaldi") removes <unk> and
// [NOISE] and joins the words. Here any <…>, [NOISE], {NOISE} and (2) go.
//
// NIST's own transcripts may leave a choice, "{ um / uh / @ }". A model learns from one text, so
// these are refused.

namespace penstock::runtime {
namespace {

std::optional<double> seconds_in(const std::string& text) {
  double seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = fault == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
}

/// Removes what stands in brackets.
std::string without_marks(const std::string& word) {
  constexpr std::string_view kOpening = "<[{(", kClosing = ">]})";
  std::string kept;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const std::size_t kind = kOpening.find(word[at]);
    const std::size_t end =
        kind == std::string_view::npos ? std::string::npos : word.find(kClosing[kind], at);
    if (end == std::string::npos)
      kept += word[at];
    else
      at = end;
  }
  return kept;
}

/// Returns the first alternatives of a text, such as "{ um / uh / @ }"; "" if there are none.
std::string find_alternatives(const std::string& text) {
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    std::string group = text.substr(at, end + 1 - at);
    if (group.find('/') != std::string::npos) return group;
  }
  return {};
}

/// Joins "they 're" and "' cause".
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  bool dangling = true;  // the last word was an apostrophe alone, or there is none
  for (const std::string& word : words) {
    const bool suffix = word.size() > 1 && word[0] == '\'' && !text.empty();
    if (!dangling && !suffix) text += ' ';
    text += word;
    dangling = word == "'";
  }
  return text;
}

}  // namespace

StmLine parse_stm(const std::string& line) {
  std::istringstream fields(line);
  StmLine segment;
  std::string speaker, begin, end;
  if (!(fields >> segment.recording >> segment.channel >> speaker >> begin >> end))
    throw DataError("is not a recording, channel, speaker, begin, end, labels and text");
  const auto first = seconds_in(begin), last = seconds_in(end);
  if (!first || !last || *first < 0 || *last <= *first)
    throw DataError(fmt::format("begins at \"{}\" s and ends at \"{}\" s", begin, end));
  segment.begin = *first;
  segment.end = *last;
  if (const std::string found = find_alternatives(line); !found.empty())
    throw DataError(
        fmt::format("leaves a choice, {}, but a text is one: write one of these there", found));
  std::vector<std::string> words;
  for (std::string word; fields >> word;)
    if (std::string kept = without_marks(word); !kept.empty()) words.push_back(std::move(kept));
  segment.text = joined(words);
  return segment;
}

}  // namespace penstock::runtime
