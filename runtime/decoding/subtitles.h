#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/decoding/timed_words.h"

namespace penstock::runtime {

/// A subtitle: up to two lines that are shown together.
struct SubtitleCue {
  double start = 0, end = 0;  // seconds since the recording began
  std::vector<std::string> lines = {};

  bool operator==(const SubtitleCue&) const = default;
};

/// Limits of a subtitle, which are those of Netflix's "Timed Text Style Guide" for English, with a
/// whole second for the shortest.
inline constexpr std::size_t kSubtitleLine = 42;                      // characters of a line
inline constexpr double kLongestSubtitle = 7, kShortestSubtitle = 1;  // seconds
/// Seconds without a word after which a new subtitle begins.
inline constexpr double kSubtitlePause = 1;

/// Appends the subtitles of an utterance that begins `offset` seconds after its recording. A new
/// one begins with the utterance, after a pause, and with the word that would make it too long in
/// time or in characters. A word with more characters than a line stays whole.
void append_cues(std::vector<SubtitleCue>& cues, std::span<const TimedWord> words, double offset);

/// Lets each subtitle stay for kShortestSubtitle, but not beyond the start of the next one.
void hold_cues(std::vector<SubtitleCue>& cues);

/// Returns a file of SubRip (.srt).
[[nodiscard]] std::string srt_text(std::span<const SubtitleCue> cues);

/// Returns a file of WebVTT (.vtt; W3C). "&", "<" and ">" are escaped.
[[nodiscard]] std::string vtt_text(std::span<const SubtitleCue> cues);

}  // namespace penstock::runtime
