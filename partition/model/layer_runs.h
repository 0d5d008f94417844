#pragma once

#include <vector>

namespace penstock::partition {

/// Of each layer of a layer sequence whether it is chosen; empty: none is.
using ChosenLayers = std::vector<bool>;

/// Layers [first, last), which follow each other.
struct LayerRun {
  int first = 0, last = 0;
  bool operator==(const LayerRun&) const = default;
};

/// The longest runs of chosen layers, in order.
std::vector<LayerRun> runs_of(const ChosenLayers& chosen);

/// What is chosen of layers [first, last), counted from `first`.
ChosenLayers chosen_among(const ChosenLayers& chosen, int first, int last);

}  // namespace penstock::partition
