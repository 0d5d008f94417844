#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "runtime/recognise/evaluate_manifests.h"

namespace penstock::tools {

// These functions report words with their times.

/// Adds words (word, start, end and confidence of each) and confidence, the mean of theirs, to an
/// object of nlohmann-json, to the thousandth. Times count from the utterance's beginning, as in
/// NeMo's manifests.
template <class Json>
void add_words(Json& line, const std::vector<runtime::TimedWord>& words) {
  const auto to_thousandths = [](double number) { return std::round(number * 1000) / 1000; };
  double sum = 0;
  line["words"] = Json::array();
  for (const runtime::TimedWord& word : words) {
    line["words"].push_back({{"word", word.word},
                             {"start", to_thousandths(word.start)},
                             {"end", to_thousandths(word.end)},
                             {"confidence", to_thousandths(word.confidence)}});
    sum += word.confidence;
  }
  if (!words.empty()) line["confidence"] = to_thousandths(sum / static_cast<double>(words.size()));
}

/// Returns the second of the recording at which an utterance begins.
[[nodiscard]] double seconds_before(const runtime::AudioSource& source);

/// Returns a line of JSON with audio_filepath, offset (for a segment) and duration, then text,
/// words and confidence, or error. It is also a valid line of a manifest.
[[nodiscard]] std::string aligned_line(const runtime::JudgedUtterance& utterance);

/// Returns a line of CTM for each word: recording, channel 1, start, duration, word, confidence.
/// The recording is its file's name without folder and ending, and times count from its beginning.
/// Spaces within a field become underscores.
[[nodiscard]] std::string aligned_ctm(const runtime::JudgedUtterance& utterance);

}  // namespace penstock::tools
