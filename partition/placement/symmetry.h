#pragma once

#include <vector>

#include "partition/placement/problem.h"

namespace penstock::partition {

/// Which devices and which whole nodes may be exchanged without changing anything: same speed,
/// memory and links to all others.
class Symmetry {
 public:
  explicit Symmetry(const Cluster& cluster);

  /// The free devices, without those that stand for the same as one before them.
  std::vector<int> distinct(const std::vector<bool>& used) const;

  /// A placement that stands for all that differ by such exchanges and by the order of replicas:
  /// the same for two of them. Nodes and devices take the names of the first alike, replicas the
  /// order of what they look like from outside (colour refinement, Weisfeiler and Leman 1968);
  /// among replicas that look the same the names decide.
  Placement canonical(const Placement& placement) const;

 private:
  class Renaming;
  using Colours = std::vector<std::vector<int>>;  // [replica][stage]

  Colours colours_of(const Placement& placement) const;
  bool same(int a, int b) const;   // but for their links
  bool share(int a, int b) const;  // an adapter, where any do
  bool alike(int a, int b) const;  // devices
  bool nodes_alike(int a, int b) const;

  const Cluster& cluster_;
  std::vector<std::vector<int>> devices_of_;  // each node
  std::vector<int> device_class_, node_class_;
};

}  // namespace penstock::partition
