#pragma once

#include <vector>

#include "partition/cluster/cluster.h"

namespace penstock::partition {

/// Which devices and which whole nodes may be exchanged without changing anything: same speed,
/// memory and links to all others.
class Symmetry {
 public:
  explicit Symmetry(const Cluster& cluster);

  /// The free devices, without those that stand for the same as one before them.
  std::vector<int> distinct(const std::vector<bool>& used) const;

 private:
  bool same(int a, int b) const;   // but for their links
  bool alike(int a, int b) const;  // devices
  bool nodes_alike(int a, int b) const;

  const Cluster& cluster_;
  std::vector<std::vector<int>> devices_of_;  // each node
  std::vector<int> device_class_, node_class_;
};

}  // namespace penstock::partition
