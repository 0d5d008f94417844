#pragma once

#include <string>

namespace penstock {

/// One of several manifests to train on. Its share of an epoch is proportional to its weight; see
/// Mixture.
struct WeightedManifest {
  std::string manifest;
  double weight = 1;
  bool operator==(const WeightedManifest&) const = default;
};

}  // namespace penstock
