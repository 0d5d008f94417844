#include "runtime/decoding/subtitles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "runtime/decoding/word_list.h"

// Words fill a subtitle one after the other. Once it is full, its words are divided into two lines
// such that the longer one is as short as possible, because a single word below a full line is hard
// to read. They always fit: the greedy division that was counted while filling is one of those that
// are compared.

namespace penstock::runtime {
namespace {

constexpr std::size_t kLines = 2;

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(count_characters(text));
}

/// Returns the words with spaces between them.
std::string joined(std::span<const TimedWord> words) {
  std::string text;
  for (const TimedWord& word : words) text += (text.empty() ? "" : " ") + word.word;
  return text;
}

/// Divides the words of a subtitle into lines. The first of equally good divisions holds.
std::vector<std::string> divided_lines(std::span<const TimedWord> words) {
  std::vector<std::string> best = {joined(words)};
  std::size_t longest = characters(best.front());
  if (longest <= kSubtitleLine) return best;
  for (std::size_t first = 1; first < words.size(); ++first) {
    std::vector<std::string> lines = {joined(words.first(first)), joined(words.subspan(first))};
    const std::size_t longer = std::max(characters(lines[0]), characters(lines[1]));
    if (longer >= longest) continue;
    longest = longer;
    best = std::move(lines);
  }
  return best;
}

/// Counts the lines that words take when each is filled before the next.
class FilledLines {
 public:
  /// Returns true if another word fits.
  bool fits(std::size_t word) const {
    return lines_ < kLines || width_ + 1 + word <= kSubtitleLine;
  }
  void add(std::size_t word) {
    if (lines_ == 0 || width_ + 1 + word > kSubtitleLine) {
      ++lines_;
      width_ = word;
    } else {
      width_ += 1 + word;
    }
  }

 private:
  std::size_t lines_ = 0, width_ = 0;
};

/// Returns hours, minutes, seconds and thousandths, before which `point` stands.
std::string clock_time(double seconds, char point) {
  const auto ms = static_cast<std::int64_t>(std::llround(seconds * 1000));
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     point, ms % 1000);
}

std::string shown(const SubtitleCue& cue, char point) {
  return fmt::format("{} --> {}\n", clock_time(cue.start, point), clock_time(cue.end, point));
}

std::string escaped(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c == '&')
      text += "&amp;";
    else if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else
      text += c;
  }
  return text;
}

}  // namespace

void append_cues(std::vector<SubtitleCue>& cues, std::span<const TimedWord> words, double offset) {
  std::size_t begin = 0;
  while (begin < words.size()) {
    FilledLines filled;
    std::size_t end = begin;
    do {
      filled.add(characters(words[end].word));
      ++end;
    } while (end < words.size() && words[end].start - words[end - 1].end < kSubtitlePause &&
             words[end].end - words[begin].start <= kLongestSubtitle &&
             filled.fits(characters(words[end].word)));
    cues.push_back({offset + words[begin].start, offset + words[end - 1].end,
                    divided_lines(words.subspan(begin, end - begin))});
    begin = end;
  }
}

void hold_cues(std::vector<SubtitleCue>& cues) {
  for (std::size_t i = 0; i < cues.size(); ++i) {
    const double until = cues[i].start + kShortestSubtitle;
    const double free = i + 1 < cues.size() ? std::min(until, cues[i + 1].start) : until;
    cues[i].end = std::max(cues[i].end, free);
  }
}

std::string srt_text(std::span<const SubtitleCue> cues) {
  std::string text;
  for (std::size_t i = 0; i < cues.size(); ++i)
    text += fmt::format("{}\n{}{}\n\n", i + 1, shown(cues[i], ','), fmt::join(cues[i].lines, "\n"));
  return text;
}

std::string vtt_text(std::span<const SubtitleCue> cues) {
  std::string text = "WEBVTT\n\n";
  for (const SubtitleCue& cue : cues) {
    text += shown(cue, '.');
    for (const std::string& line : cue.lines) text += escaped(line) + '\n';
    text += '\n';
  }
  return text;
}

}  // namespace penstock::runtime
