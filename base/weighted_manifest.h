#pragma once

#include <string>

namespace penstock {

/// A manifest of several to train on. Its share of an epoch is in proportion to its weight, see
/// Mixture.
struct WeightedManifest {
  std::string manifest;
  double weight = 1;
  bool operator==(const WeightedManifest&) const = default;
};

}  // namespace penstock
