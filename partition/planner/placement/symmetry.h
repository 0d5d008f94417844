#pragma once

#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// The devices and whole nodes that may be exchanged without changing any cost or limit: they have
/// the same speed, memory, links to all others, and adapters.
class Symmetry {
 public:
  explicit Symmetry(const Cluster& cluster);

  /// Returns the free devices, one of each set that may be exchanged: the first.
  std::vector<int> distinct(const std::vector<bool>& used) const;

  /// Returns the canonical form of a placement. Placements that differ only by such exchanges and
  /// by the order of replicas have the same form. Nodes and devices are renamed to the first ones
  /// that are alike. Replicas are sorted by their colours (colour refinement, Weisfeiler and Leman
  /// 1968); replicas of equal colours are sorted by the new names.
  Placement canonical(const Placement& placement) const;

 private:
  class Renaming;
  using Colours = std::vector<std::vector<int>>;  // [replica][stage]

  Colours colours_of(const Placement& placement) const;
  bool same(int a, int b) const;         // equal speed and memory
  bool share(int a, int b) const;        // the same adapter, or there are none
  bool alike(int a, int b) const;        // devices may be exchanged
  bool nodes_alike(int a, int b) const;  // whole nodes may be exchanged

  const Cluster& cluster_;
  std::vector<std::vector<int>> devices_of_;    // [node]
  std::vector<int> device_class_, node_class_;  // the first one alike
};

}  // namespace penstock::partition
