#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layers/losses/ctc_prefix_score.h"
#include "layers/losses/hypothesis.h"

namespace penstock::layers {

struct TextBeamOptions {
  int beam = 1;  // hypotheses that are kept, from 1; 1: greedy decoding
  double length_penalty = 1;
  double ctc_weight = 0;  // share of CTC's score, from 0 to 1
  std::int32_t eos = 0;   // class that ends a text
  std::int64_t most = 0;  // labels of a text at most
};

/// A class, and the logarithm of its probability after a row.
struct ScoredClass {
  std::int32_t id = 0;
  double log_probability = 0;
};

/// Returns the likeliest classes of a row of logits, lower classes first among equals. Logits that
/// are no finite numbers are impossible. Classes in `suppressed` are left out, but probabilities
/// count them, as in transformers. For a `count` of 1 the first of the largest logits is returned,
/// with a logarithm of 0: nothing is compared with it.
[[nodiscard]] std::vector<ScoredClass> likeliest_classes(
    std::span<const float> logits, int count, std::span<const std::int32_t> suppressed = {});

/// A step says what one of the beam's slots holds in the next round.
struct TextStep {
  std::int32_t label = -1;  // what is appended; -1: the slot is empty
  std::int32_t parent = 0;  // slot of the text to which it is

  bool goes_on() const { return label >= 0; }
  bool operator==(const TextStep&) const = default;
};

/// Searches for the text of one utterance, which a decoder writes label by label, as transformers'
/// generate(num_beams=N, length_penalty=p) does. It runs on the host, and asks for the classes
/// after each row.
///
/// Hypotheses lie in `beam` slots, which number the rows of caches. A text that goes on stays in
/// its slot. Where several go on from one, the others take slots of texts that do not, so that a
/// slot is never read after it was written.
class TextBeam {
 public:
  /// `ctc` scores too if ctc_weight is above 0. ConfigError for a beam below 1, for a weight that
  /// is not from 0 to 1, for a penalty that is no finite number, and for a missing `ctc`.
  explicit TextBeam(const TextBeamOptions& options,
                    std::shared_ptr<const CtcPrefixScore> ctc = nullptr);

  /// Returns how many of the likeliest classes of each row choose() needs.
  int classes_of_row() const;

  /// Takes the likeliest classes after each slot that goes on, in the order of the slots. In the
  /// first round only slot 0 does, with the empty text.
  void choose(std::span<const std::vector<ScoredClass>> rows);

  /// Returns what the slots hold next, `beam` of them. If all are empty, the search has ended.
  const std::vector<TextStep>& steps() const { return steps_; }
  bool ended() const { return running_.empty(); }

  /// Returns the texts that have ended, the best first, `beam` at most. After the search there is
  /// one at least. A score is divided by the length to the power of the penalty.
  const std::vector<Hypothesis>& hypotheses() const { return ended_; }

 private:
  /// A beginning of a text that may go on.
  struct Running {
    std::vector<std::int32_t> labels = {};
    std::int32_t slot = 0;
    double attention = 0, score = 0;
    CtcPrefixScore::Prefix ctc = {};
  };
  struct Candidate;

  std::vector<Candidate> candidates(std::span<const std::vector<ScoredClass>> rows) const;
  Candidate candidate(std::size_t parent, const ScoredClass& next) const;
  void end(std::vector<std::int32_t> labels, double score, std::int64_t length);
  bool can_improve(std::int64_t length) const;
  void place(std::vector<Running> next);

  TextBeamOptions options_;
  std::shared_ptr<const CtcPrefixScore> ctc_;
  std::vector<Running> running_;  // the best first
  std::vector<TextStep> steps_;
  std::vector<Hypothesis> ended_;
};

}  // namespace penstock::layers
