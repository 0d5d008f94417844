#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/context.h"

namespace penstock::layers {

/// Stochastic depth (Huang et al. 2016) of a residual unit: in training each utterance passes by
/// what the unit computes with `probability`, and what others get is scaled so that means stay, as
/// by torchvision's stochastic_depth in mode "row". The choice depends on (seed, epoch, utterance,
/// unit) alone: with s = philox_stream(seed, {hash_of_name(name), epoch, utterance's low word, its
/// high word}), an utterance is dropped where s(0, 0)[0] < probability · 2^32.
class LayerDrop {
 public:
  /// ShapeError unless 0 <= probability < 1. `name` is like that of no layer that samples.
  LayerDrop(std::string name, double probability);

  bool active() const { return probability_ > 0; }

  /// Of each utterance: 0 if it is dropped, else 1 / (1 - probability). Empty in evaluation, and
  /// without a probability: nothing is dropped or scaled.
  [[nodiscard]] std::vector<double> factors(const Context& context) const;

 private:
  std::string name_;
  double probability_;
};

/// Whether these factors leave nothing to compute.
[[nodiscard]] bool all_dropped(std::span<const double> factors);

}  // namespace penstock::layers
