#pragma once

#include <span>
#include <string>
#include <vector>

#include "layers/context.h"

namespace penstock::layers {

/// Stochastic depth (Huang et al. 2016) of a residual unit. In training each utterance skips the
/// unit's parts with `probability`, and their output is scaled for the others so that the mean
/// stays, as in torchvision's stochastic_depth in mode "row". The choice depends on (seed, epoch,
/// utterance, unit) alone. With s = philox_stream(seed, {hash_of_name(name), epoch, utterance's low
/// word, its high word}), an utterance is dropped if s(0, 0)[0] < probability · 2^32.
class LayerDrop {
 public:
  /// ShapeError unless 0 <= probability < 1. `name` must differ from that of every layer that
  /// samples.
  LayerDrop(std::string name, double probability);

  bool active() const { return probability_ > 0; }

  /// Returns the factor of each utterance: 0 if it is dropped, else 1 / (1 - probability). Empty in
  /// evaluation, and if the probability is 0: nothing is dropped or scaled.
  [[nodiscard]] std::vector<double> factors(const Context& context) const;

 private:
  std::string name_;
  double probability_;
};

/// Returns true if these factors leave nothing to compute.
[[nodiscard]] bool all_dropped(std::span<const double> factors);

}  // namespace penstock::layers
