#include "runtime/decoding/timed_words.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/decoding/ctc_alignment.h"
#include "runtime/decoding/ctc_columns.h"

// The frames of a label follow one another on the path, so the frames of a word lie between those
// of its first and last label. Blanks within count to its time, and not to its confidence. That is
// the score of words in torchaudio's tutorial on forced alignment.

namespace penstock::runtime {
namespace {

/// The labels of a word: places [begin, end) in a text.
struct WordPlaces {
  std::size_t begin = 0, end = 0;
};

bool is_spaces(const std::string& text) {
  return !text.empty() && text.find_first_not_of(' ') == std::string::npos;
}

/// Cuts a text into words. Symbols and bytes have no text of their own and continue a word.
std::vector<WordPlaces> word_places(std::span<const std::int32_t> labels,
                                    const std::vector<Label>& vocabulary) {
  std::vector<WordPlaces> words;
  bool within = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string& text = vocabulary.at(static_cast<std::size_t>(labels[i])).text;
    if (text.starts_with(' ')) within = false;
    if (is_spaces(text)) continue;
    if (!within) words.push_back({i, i});
    words.back().end = i + 1;
    within = !text.ends_with(' ');
  }
  return words;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Returns the times of words on a path, with their labels' texts.
std::vector<TimedWord> words_on(const CtcPath& path, const std::vector<WordPlaces>& words,
                                double frame_seconds) {
  std::vector<TimedWord> timed;
  std::size_t frame = 0;
  for (const auto& [begin, end] : words) {
    const auto before = [&](std::size_t place) {
      return frame < path.places.size() && path.places[frame] < static_cast<std::int64_t>(place);
    };
    while (before(begin)) ++frame;
    TimedWord& word = timed.emplace_back();
    word.start = static_cast<double>(frame) * frame_seconds;
    double sum = 0;
    std::int64_t counted = 0;
    for (; before(end); ++frame) {
      if (path.places[frame] < 0) continue;
      sum += path.probabilities[frame];
      ++counted;
      word.end = static_cast<double>(frame + 1) * frame_seconds;
    }
    word.confidence = sum / static_cast<double>(counted);
  }
  return timed;
}

}  // namespace

WordTimer ctc_word_timer(const Tokenizer& tokenizer, const WordTiming& timing) {
  const auto vocabulary = std::make_shared<const std::vector<Label>>(tokenizer.vocabulary());
  return [&tokenizer, timing, vocabulary](std::span<const float> x_FC, std::int64_t channels,
                                          std::span<const std::int32_t> labels) {
    const std::vector<WordPlaces> places = word_places(labels, *vocabulary);
    const CtcPath path = timing.first == 0 ? align_ctc(x_FC, channels, labels)
                                           : align_ctc(columns_from(x_FC, channels, timing.first),
                                                       channels - timing.first, labels);
    std::vector<TimedWord> words = words_on(path, places, timing.frame_seconds);
    for (std::size_t w = 0; w < words.size(); ++w)
      words[w].word = trimmed(
          tokenizer.decode(labels.subspan(places[w].begin, places[w].end - places[w].begin)));
    return words;
  };
}

}  // namespace penstock::runtime
