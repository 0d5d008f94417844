#include "runtime/decoding/ctc_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/error.h"

// A path of CTC gives each frame a label or a blank, and means the text that is left when repeats
// are merged and blanks dropped. The Viterbi algorithm finds the likeliest path that means a given
// text (Graves et al. 2006, section 4.1, with a maximum in place of the sum; it is
// torchaudio.functional.forced_align).
//
// The text becomes S = 2 L + 1 states: a blank, the first label, a blank, and so on to a blank. In
// each frame a path stays in its state, goes to the next, or skips the blank between two labels
// that differ. After frame t, best[s] is the log-probability of the likeliest path that ends in
// state s. The path is read backwards from the better of the last two states. A path moves by two
// states a frame at most. So states that it can't reach from the beginning, or from which it can't
// reach the end, are left out: they are on no path.
//
// Reading backwards takes by how many states each best path came on: two bits for each frame and
// state, too much for hours. So only the row before every B-th frame is kept. Backwards, block by
// block, the search runs again from the block's row, and keeps its bits. The path that leaves the
// block in state s was in none before s - 2 B, so the second run takes no more than 2 B + 1 states
// (checkpoints of Viterbi paths: Grice, Hughey & Speck 1997, "Reduced space sequence alignment").
// Both runs add the same numbers in the same order, so the path is that of one block, bit for bit.
//
// The time is at most F S for F frames, and F 2 B for the second run. Memory is 8 F S / B bytes of
// rows and B² bytes of bits at most, least about B³ = 8 F S. An hour at 25 frames a second with
// 50,000 labels takes 26 MB, ten hours 560 MB. Up to kWhole bytes of bits, all frames are a block.

namespace penstock::runtime {
namespace {

constexpr double kNoPath = -std::numeric_limits<double>::infinity();
constexpr std::size_t kWhole = std::size_t{16} << 20;
constexpr std::size_t kMargin = 2;  // states before the first one, so that all have two before them

/// Numbers from 0 to 3, four in a byte.
class Steps {
 public:
  explicit Steps(std::size_t size) : size_(size), bytes_((size + 3) / 4) {}

  std::size_t size() const { return size_; }
  void set(std::size_t i, unsigned step) {
    bytes_[i / 4] = static_cast<std::uint8_t>(bytes_[i / 4] | (step << (2 * (i % 4))));
  }
  std::size_t at(std::size_t i) const { return (bytes_[i / 4] >> (2 * (i % 4))) & 3U; }

 private:
  std::size_t size_;
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

/// States from `first` to before `end`.
struct States {
  std::size_t first = 0, end = 0;

  std::size_t size() const { return end > first ? end - first : 0; }
  States within(const States& other) const {
    return {std::max(first, other.first), std::min(end, other.end)};
  }
};

/// The frames and states of one text, and the likeliest path through them.
class Lattice {
 public:
  Lattice(std::span<const float> logits_FC, std::int64_t channels,
          std::span<const std::int32_t> labels, std::size_t block)
      : logits_(logits_FC),
        frames_(logits_FC.size() / static_cast<std::size_t>(channels)),
        states_(2 * labels.size() + 1),
        block_(block > 0 ? block : chosen_block()),
        logs_(static_cast<std::size_t>(channels)),
        best_(states_ + kMargin, kNoPath),
        skips_(states_, kNoPath),
        state_labels_(states_) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      state_labels_[2 * i + 1] = labels[i];
      if (i > 0 && labels[i] != labels[i - 1]) skips_[2 * i + 1] = 0;
    }
  }

  /// Returns the state of each frame on the likeliest path.
  std::vector<std::size_t> path() {
    std::vector<std::size_t> states(frames_);
    if (frames_ == 0) return states;
    if (block_ >= frames_) {
      Steps steps(frames_ * states_);
      run(0, {0, states_}, frames_, &steps);
      trace(0, {0, states_}, steps, last_state(), states);
      return states;
    }
    std::size_t last = forward();
    for (std::size_t first = (frames_ - 1) / block_ * block_;; first -= block_) {
      last = backward(first, last, states);
      if (first == 0) return states;
    }
  }

  /// Returns the probability of a state's label in a frame.
  double probability(std::size_t frame, std::size_t state) {
    read(frame);
    return std::exp(logs_[static_cast<std::size_t>(state_labels_[state])]);
  }

 private:
  std::size_t chosen_block() const {
    if (frames_ * states_ / 4 <= kWhole) return frames_;
    return static_cast<std::size_t>(
        std::cbrt(8.0 * static_cast<double>(frames_) * static_cast<double>(states_)));
  }

  double& best(std::size_t state) { return best_[state + kMargin]; }

  void read(std::size_t frame) {
    log_softmax(logits_.subspan(frame * logs_.size(), logs_.size()), logs_);
  }

  /// Returns the states of a frame that lie on paths through all frames.
  States reached(std::size_t frame) const {
    const std::size_t left = 2 * (frames_ - frame);
    return {states_ > left ? states_ - left : 0, std::min(states_, 2 * frame + 2)};
  }

  /// Takes frames [first, first + count) of the `among` states. `steps`, if there are any, has
  /// among.size() numbers for each. States are updated from the last to the first, since paths only
  /// go on.
  void run(std::size_t first, const States& among, std::size_t count, Steps* steps) {
    for (std::size_t frame = first; frame < first + count; ++frame) {
      read(frame);
      const States states = reached(frame).within(among);
      const std::size_t row = (frame - first) * among.size();
      for (std::size_t s = states.end; s-- > states.first;) {
        const auto [before, step] = frame == 0 ? Best{0, 0} : best_before(s);
        best(s) = before + logs_[static_cast<std::size_t>(state_labels_[s])];
        if (steps != nullptr) steps->set(row + s - among.first, step);
      }
    }
  }

  /// The log-probability of the best path to a state, and by how many states it comes on.
  struct Best {
    double path = 0;
    unsigned step = 0;
  };

  /// Which is best is hard to foresee, so there are no branches.
  Best best_before(std::size_t s) const {
    const double* best = best_.data() + s + kMargin;
    const double two = best[-2] + skips_[s];
    Best found{best[0], 0};
    found.step = best[-1] > found.path ? 1 : 0;
    found.path = std::max(found.path, best[-1]);
    found.step = two > found.path ? 2 : found.step;
    found.path = std::max(found.path, two);
    return found;
  }

  std::size_t last_state() {
    std::size_t s = states_ - 1;
    if (s > 0 && best(s - 1) >= best(s)) --s;
    if (best(s) == kNoPath)
      throw DataError("the model gives its text no probability: correct text or audio");
    return s;
  }

  /// Takes all frames, and keeps the row before each block. Returns the last state.
  std::size_t forward() {
    for (std::size_t first = 0; first < frames_; first += block_) {
      const States states = first == 0 ? States{} : reached(first - 1);
      rows_.push_back({states, {&best(states.first), &best(states.first) + states.size()}});
      run(first, {0, states_}, std::min(block_, frames_ - first), nullptr);
    }
    return last_state();
  }

  /// Sets the states of the block that begins with a frame and ends in `last`. Returns the state
  /// before it. Its row is freed.
  std::size_t backward(std::size_t first, std::size_t last, std::vector<std::size_t>& states) {
    const std::size_t count = std::min(block_, frames_ - first);
    const States among{last > 2 * count ? last - 2 * count : 0, last + 1};
    const Row row = std::move(rows_.back());
    rows_.pop_back();
    for (std::size_t s = among.first; s < among.end; ++s)
      best(s) =
          s >= row.states.first && s < row.states.end ? row.best[s - row.states.first] : kNoPath;
    Steps steps(count * among.size());
    run(first, among, count, &steps);
    return trace(first, among, steps, last, states);
  }

  /// Follows the steps back. Returns the state before the first frame.
  static std::size_t trace(std::size_t first, const States& among, const Steps& steps,
                           std::size_t last, std::vector<std::size_t>& states) {
    for (std::size_t f = steps.size() / among.size(); f-- > 0;) {
      states[first + f] = last;
      last -= steps.at(f * among.size() + last - among.first);
    }
    return last;
  }

  /// Log-probabilities of some states, after a frame.
  struct Row {
    States states;
    std::vector<double> best;
  };

  std::span<const float> logits_;
  std::size_t frames_, states_, block_;
  std::vector<double> logs_;                // of a frame's labels
  std::vector<double> best_;                // of the states, after kMargin states without a path
  std::vector<double> skips_;               // 0 where a path may skip a blank, else kNoPath
  std::vector<std::int32_t> state_labels_;  // of the states
  std::vector<Row> rows_;                   // before each block
};

}  // namespace

CtcPath align_ctc(std::span<const float> logits_FC, std::int64_t channels,
                  std::span<const std::int32_t> labels, std::size_t block) {
  check_text(logits_FC, channels, labels);
  Lattice lattice(logits_FC, channels, labels, block);
  CtcPath path;
  const std::vector<std::size_t> states = lattice.path();
  for (std::size_t f = 0; f < states.size(); ++f) {
    const std::size_t s = states[f];
    path.places.push_back(s % 2 == 0 ? -1 : static_cast<std::int64_t>(s / 2));
    path.probabilities.push_back(lattice.probability(f, s));
  }
  return path;
}

}  // namespace penstock::runtime
