#pragma once

#include <vector>

#include "partition/placement/bound/run_table.h"
#include "partition/placement/problem.h"

namespace penstock::partition {

/// The devices of a cluster in one or two classes, each with the best that any of its devices has.
/// There are two, the fastest devices and the others, where no node has both.
class DeviceClasses {
 public:
  explicit DeviceClasses(const PlacementProblem& problem);

  /// All ways to part the devices of which each gives a bound: by the largest step between speeds,
  /// and by each other one. Where a node has devices of both classes, classes know nothing of
  /// nodes, and there is one way more, with a class of all.
  static std::vector<DeviceClasses> of_all_steps(const PlacementProblem& problem);

  struct Stages {
    std::vector<RunKind> runs;  // in nodes of devices of each class
    std::vector<StageClass> classes;
    int limited = 0;  // stages that the fastest devices make
  };
  /// The classes of stages with so many replicas, for any number of stages, as one replica of a
  /// pipeline meets them: that with the fewest of the fastest devices, at most its share of them.
  /// A stage takes no less than this replica's own computing and messages. The others are in its
  /// node too, or not, and then gradients are added over links between nodes.
  Stages of(int replicas) const;

  /// Devices that runs of each kind are on.
  std::vector<std::vector<int>> devices() const;

 private:
  /// `inside` are the fastest.
  DeviceClasses(const PlacementProblem& problem, std::vector<bool> inside);

  struct Links {
    LinkRates one_way;  // the least latency and the widest of them
    LinkCost crossing;  // the best of what crosses a boundary over them
  };
  struct Class {
    std::vector<int> devices;
    double speed = 0;
    Links within, between;  // its devices' to all others
    int largest_node = 0;   // devices
  };
  Class class_of(const std::vector<bool>& member) const;
  double memory(const std::vector<int>& devices, std::size_t k) const;
  void add_stages(const Class& device_class, int replicas, Stages& stages) const;

  const PlacementProblem* problem_;
  std::vector<Class> classes_;  // the fastest first
};

}  // namespace penstock::partition
