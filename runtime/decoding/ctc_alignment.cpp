#include "runtime/decoding/ctc_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"

// A path of CTC gives each frame a label or a blank, and means the text that is left when repeats
// are merged and blanks dropped. The Viterbi algorithm finds the likeliest path that means a given
// text (Graves et al. 2006, section 4.1, with a maximum in place of the sum; it is
// torchaudio.functional.forced_align).
//
// The text becomes 2 L + 1 states: a blank, the first label, a blank, and so on to a blank. In each
// frame a path stays in its state, goes to the next, or skips the blank between two labels that
// differ. After frame t, best[s] is the log-probability of the likeliest path that ends in state s.
// The path is read backwards from the better of the last two states.
//
// The time is F (2 L + 1) for F frames. Memory holds one row of log-probabilities, and two bits for
// each frame and state: by how many states its best path came on. An hour at 25 frames a second
// with 50,000 labels needs 2.3 GB, an utterance of 30 s with 400 labels 150 kB.

namespace penstock::runtime {
namespace {

constexpr double kNoPath = -std::numeric_limits<double>::infinity();

/// Numbers from 0 to 3, four in a byte.
class Steps {
 public:
  explicit Steps(std::size_t size) : bytes_((size + 3) / 4) {}

  void set(std::size_t i, unsigned step) {
    bytes_[i / 4] = static_cast<std::uint8_t>(bytes_[i / 4] | (step << (2 * (i % 4))));
  }
  std::size_t at(std::size_t i) const { return (bytes_[i / 4] >> (2 * (i % 4))) & 3U; }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Sets `logs` to the log-softmax of a frame.
void log_softmax(std::span<const float> logits, std::vector<double>& logs) {
  const double most = *std::ranges::max_element(
      logits, {}, [](float x) { return std::isfinite(x) ? double{x} : kNoPath; });
  if (!std::isfinite(most)) {
    std::ranges::fill(logs, -std::log(static_cast<double>(logs.size())));
    return;
  }
  double sum = 0;
  for (const float x : logits) sum += std::isfinite(x) ? std::exp(x - most) : 0;
  const double log_sum = std::log(sum);
  for (std::size_t c = 0; c < logs.size(); ++c)
    logs[c] = std::isfinite(logits[c]) ? logits[c] - most - log_sum : kNoPath;
}

void check_text(std::span<const float> logits_FC, std::int64_t channels,
                std::span<const std::int32_t> labels) {
  if (channels < 1 || std::ssize(logits_FC) % channels != 0)
    throw ShapeError(
        fmt::format("{} logits are not frames of {} channels", logits_FC.size(), channels));
  std::int64_t needed = std::ssize(labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 1 || labels[i] >= channels)
      throw ShapeError(
          fmt::format("label {} is not between the blank and {} channels", labels[i], channels));
    if (i > 0 && labels[i] == labels[i - 1]) ++needed;
  }
  if (const std::int64_t frames = std::ssize(logits_FC) / channels; frames < needed)
    throw DataError(fmt::format(
        "its text needs {} frames, but the model makes {} of its audio: correct text or audio",
        needed, frames));
}

/// The search over the frames of one text.
class Viterbi {
 public:
  Viterbi(std::size_t frames, std::span<const std::int32_t> labels)
      : labels_(labels),
        states_(2 * labels.size() + 1),
        best_(states_, kNoPath),
        steps_(frames * states_) {}

  /// Takes the next frame. States are updated from the last to the first, since paths only go on.
  void take(const std::vector<double>& logs) {
    for (std::size_t s = states_; s-- > 0;) {
      unsigned step = 0;
      double best = frame_ == 0 && s > 1 ? kNoPath : best_[s];
      if (frame_ == 0 && s < 2) best = 0;
      const std::size_t reach = frame_ == 0 ? 0 : skips_to(s) ? 2 : std::min<std::size_t>(s, 1);
      for (unsigned k = 1; k <= reach; ++k)
        if (best_[s - k] > best) {
          best = best_[s - k];
          step = k;
        }
      best_[s] = best + logs[static_cast<std::size_t>(label(s))];
      steps_.set(frame_ * states_ + s, step);
    }
    ++frame_;
  }

  /// Returns the state of each frame on the likeliest path.
  std::vector<std::size_t> path() const {
    if (frame_ == 0) return {};
    std::size_t s = states_ - 1;
    if (s > 0 && best_[s - 1] >= best_[s]) --s;
    if (best_[s] == kNoPath)
      throw DataError("the model gives its text no probability: correct text or audio");
    std::vector<std::size_t> states(frame_);
    for (std::size_t f = frame_; f-- > 0;) {
      states[f] = s;
      s -= steps_.at(f * states_ + s);
    }
    return states;
  }

  std::int32_t label(std::size_t state) const { return state % 2 == 0 ? 0 : labels_[state / 2]; }

 private:
  bool skips_to(std::size_t s) const {
    return s % 2 == 1 && s > 1 && labels_[s / 2] != labels_[s / 2 - 1];
  }

  std::span<const std::int32_t> labels_;
  std::size_t states_, frame_ = 0;
  std::vector<double> best_;
  Steps steps_;
};

}  // namespace

CtcPath align_ctc(std::span<const float> logits_FC, std::int64_t channels,
                  std::span<const std::int32_t> labels) {
  check_text(logits_FC, channels, labels);
  const auto width = static_cast<std::size_t>(channels);
  const std::size_t frames = logits_FC.size() / width;
  Viterbi search(frames, labels);
  std::vector<double> logs(width);
  for (std::size_t f = 0; f < frames; ++f) {
    log_softmax(logits_FC.subspan(f * width, width), logs);
    search.take(logs);
  }
  CtcPath path;
  const std::vector<std::size_t> states = search.path();
  for (std::size_t f = 0; f < frames; ++f) {
    log_softmax(logits_FC.subspan(f * width, width), logs);
    const std::size_t s = states[f];
    path.places.push_back(s % 2 == 0 ? -1 : static_cast<std::int64_t>(s / 2));
    path.probabilities.push_back(std::exp(logs[static_cast<std::size_t>(search.label(s))]));
  }
  return path;
}

}  // namespace penstock::runtime
