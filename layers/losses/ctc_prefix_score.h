#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::layers {

/// Scores the beginnings of texts by CTC, for a decoder that writes them label by label.
class CtcPrefixScore {
 public:
  /// A beginning of a text, with the logarithms of the probabilities of the paths that have written
  /// just it after each frame.
  struct Prefix {
    std::vector<double> label_T = {};  // of paths that end with its last label
    std::vector<double> blank_T = {};  // of those that end with a blank
    std::int32_t last = -1;            // -1: it is empty
    std::int64_t labels = 0;
    double log_probability = 0;  // that a text begins with it
  };

  /// Takes CTC's logits of one utterance, frames × classes, normalised or not. ShapeError if they
  /// are no whole number of frames, or none.
  CtcPrefixScore(std::vector<float> logits_TV, std::int64_t classes);

  std::int64_t frames() const { return static_cast<std::int64_t>(normalisers_T_.size()); }
  std::int64_t classes() const { return classes_; }

  /// Returns the beginning of every text.
  Prefix empty() const;
  /// Returns a beginning with one label more. The blank and negative or larger numbers than there
  /// are classes are no labels: no text begins so.
  Prefix extended(const Prefix& prefix, std::int32_t label) const;
  /// Returns the logarithm of the probability that a text is this one.
  double whole(const Prefix& prefix) const;

 private:
  double log_probability(std::int64_t frame, std::int32_t label) const;

  std::vector<float> logits_TV_;
  std::int64_t classes_;
  std::vector<double> normalisers_T_;
};

}  // namespace penstock::layers
