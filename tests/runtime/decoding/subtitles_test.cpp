#include "runtime/decoding/subtitles.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {
namespace {

using Lines = std::vector<std::string>;

/// Words of `seconds` each, one right after the other from `start` on.
std::vector<TimedWord> spoken(const Lines& words, double start, double seconds) {
  std::vector<TimedWord> timed;
  for (const std::string& word : words) {
    timed.push_back({word, start, start + seconds, 1});
    start += seconds;
  }
  return timed;
}

std::vector<SubtitleCue> made_cues(const std::vector<TimedWord>& words, double offset = 0) {
  std::vector<SubtitleCue> cues;
  append_cues(cues, words, offset);
  return cues;
}

TEST(Subtitles, BreakAtPauses) {
  std::vector<TimedWord> words = spoken({"one", "two"}, 0.5, 0.25);
  const std::vector<TimedWord> later = spoken({"three"}, 2, 0.5);
  words.insert(words.end(), later.begin(), later.end());
  EXPECT_EQ(made_cues(words, 10),
            (std::vector<SubtitleCue>{{10.5, 11, {"one two"}}, {12, 12.5, {"three"}}}));
  words.back().start = 1.75;  // three quarters of a second are no pause
  EXPECT_EQ(made_cues(words).size(), 1u);
}

TEST(Subtitles, DivideWordsIntoEvenLines) {
  const Lines words = {"seven", "characters", "and", "some", "others", "fill", "this", "line"};
  const auto cues = made_cues(spoken(words, 0, 0.2));
  ASSERT_EQ(cues.size(), 1u);
  EXPECT_EQ(cues[0].lines, (Lines{"seven characters and some", "others fill this line"}));
}

TEST(Subtitles, HoldNoMoreThanTheirLimits) {
  std::vector<TimedWord> words;
  Lines all;
  for (int i = 0; i < 97; ++i) all.push_back(std::string(1 + i * i % 13, 'a' + i % 26));
  words = spoken(all, 3, 0.31);
  const auto cues = made_cues(words);
  Lines shown;
  for (const SubtitleCue& cue : cues) {
    EXPECT_LE(cue.end - cue.start, kLongestSubtitle);
    EXPECT_LE(cue.lines.size(), 2u);
    for (const std::string& line : cue.lines) {
      EXPECT_LE(line.size(), kSubtitleLine);
      std::string word;
      for (const char c : line + ' ')
        if (c == ' ')
          shown.push_back(std::exchange(word, {}));
        else
          word += c;
    }
  }
  EXPECT_EQ(shown, all);
  // Each is full: 13 letters at most, the longest word, are free at the end of each line.
  for (std::size_t i = 0; i + 1 < cues.size(); ++i)
    EXPECT_GE(cues[i].lines.at(0).size() + cues[i].lines.at(1).size(), 2 * (kSubtitleLine - 13));
}

// 21 letters of two bytes each take half a line.
TEST(Subtitles, CountCharactersAndNotBytes) {
  std::string umlauts;
  for (int i = 0; i < 20; ++i) umlauts += "ü";
  EXPECT_EQ(made_cues(spoken({umlauts, umlauts}, 0, 1))[0].lines.size(), 1u);
  const std::string wide = umlauts + umlauts + umlauts;
  EXPECT_EQ(made_cues(spoken({"a", wide}, 0, 1))[0].lines, (Lines{"a", wide}));
}

TEST(Subtitles, StayForASecondUntilTheNext) {
  std::vector<SubtitleCue> cues = {{0, 0.25, {"a"}}, {0.5, 2, {"b"}}, {2, 2.25, {"c"}}};
  hold_cues(cues);
  EXPECT_EQ(cues[0].end, 0.5);
  EXPECT_EQ(cues[1].end, 2);
  EXPECT_EQ(cues[2].end, 3);
}

TEST(Subtitles, AreWrittenAsSubRip) {
  const std::vector<SubtitleCue> cues = {{0, 1.0004, {"a < b"}},
                                         {3599.9996, 360'000.5, {"one", "two"}}};
  EXPECT_EQ(srt_text(cues),
            "1\n00:00:00,000 --> 00:00:01,000\na < b\n\n"
            "2\n01:00:00,000 --> 100:00:00,500\none\ntwo\n\n");
  EXPECT_EQ(srt_text({}), "");
}

TEST(Subtitles, AreWrittenAsWebVtt) {
  const std::vector<SubtitleCue> cues = {{61.25, 62, {"<i>R&D</i>", "--> b"}}};
  EXPECT_EQ(vtt_text(cues),
            "WEBVTT\n\n00:01:01.250 --> 00:01:02.000\n&lt;i&gt;R&amp;D&lt;/i&gt;\n--&gt; b\n\n");
  EXPECT_EQ(vtt_text({}), "WEBVTT\n\n");
}

}  // namespace
}  // namespace penstock::runtime
