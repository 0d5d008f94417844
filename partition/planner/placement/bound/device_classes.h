#pragma once

#include <vector>

#include "partition/planner/placement/bound/run_table.h"
#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// The devices of a cluster in one or two classes. Each class has the best speed, memory and links
/// of any of its devices. There are two, the fastest devices and the others, if no node has both.
class DeviceClasses {
 public:
  explicit DeviceClasses(const PlacementProblem& problem);

  /// The stages that the classes allow.
  struct Stages {
    std::vector<RunKind> runs;  // one for each class of devices
    std::vector<StageClass> classes;
    int limited = 0;  // most stages on the fastest devices
  };
  /// Returns the classes of stages with so many replicas, for any number of stages. They are those
  /// of one replica: the one with the fewest of the fastest devices, which are at most its share of
  /// them. A stage takes no less than this replica's own computing and messages. Either all
  /// replicas are in its node, or gradients are added over links between nodes.
  Stages of(int replicas) const;

  /// Returns the devices of each class.
  std::vector<std::vector<int>> devices() const;

 private:
  /// The best of several links.
  struct Links {
    LinkRates one_way;  // minimum latency and maximum bandwidth
    LinkCost crossing;  // minimum cost of a boundary
  };
  struct Class {
    std::vector<int> devices;
    double speed = 0;
    Links within, between;  // links of its devices, inside nodes and between nodes
    int largest_node = 0;   // most devices of the class in a node
  };
  Class class_of(const std::vector<bool>& member) const;
  double memory(const std::vector<int>& devices, std::size_t k) const;
  void add_stages(const Class& device_class, int replicas, Stages& stages) const;

  const PlacementProblem* problem_;
  std::vector<Class> classes_;  // the fastest class first
};

}  // namespace penstock::partition
