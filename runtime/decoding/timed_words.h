#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// A word with its place in time.
struct TimedWord {
  std::string word;
  double start = 0, end = 0;  // seconds since the utterance began
  /// The mean posterior probability of its labels, over the frames that have them; from 0 to 1.
  double confidence = 0;

  bool operator==(const TimedWord&) const = default;
};

/// Returns the words of an utterance with their times. Arguments: what enters the last layer
/// (frames × channels), its channels, and the labels of the text.
using WordTimer = std::function<std::vector<TimedWord>(
    std::span<const float> x_FC, std::int64_t channels, std::span<const std::int32_t> labels)>;

/// A WordTiming holds what a timer knows of a model.
struct WordTiming {
  double frame_seconds = 0;  // from one frame of CTC to the next
  std::int64_t first = 0;    // channel at which the logits of CTC begin
};

/// Returns a timer by align_ctc(), whose errors it has. A word begins with its first label's first
/// frame, and ends with its last label's last one. Labels that are spaces belong to no word, and a
/// label that begins with a space begins one. `tokenizer` must outlive it.
[[nodiscard]] WordTimer ctc_word_timer(const Tokenizer& tokenizer, const WordTiming& timing);

}  // namespace penstock::runtime
