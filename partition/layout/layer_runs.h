#pragma once

#include <vector>

namespace penstock::partition {

/// For each layer of a layer sequence, true if it is chosen. Empty means that none is.
using ChosenLayers = std::vector<bool>;

/// A LayerRun is the consecutive layers [first, last).
struct LayerRun {
  int first = 0, last = 0;
  bool operator==(const LayerRun&) const = default;
};

/// Returns the longest runs of chosen layers, in order.
std::vector<LayerRun> runs_of(const ChosenLayers& chosen);

/// Returns the choice among layers [first, last), indexed from `first`.
ChosenLayers chosen_among(const ChosenLayers& chosen, int first, int last);

}  // namespace penstock::partition
