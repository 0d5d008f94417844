#pragma once

#include <functional>
#include <string>
#include <vector>

namespace penstock::partition {

/// A layer sequence to be cut into contiguous stages. Layer i takes `compute[i]` seconds per
/// micro-batch, and its output takes `transfer[i]` seconds to another stage.
struct PartitionProblem {
  std::vector<double> compute;
  std::vector<double> transfer;
  int stages = 1;
  int chunks_per_rank = 1;  // for messages; if more than 1, `stages` counts chunks
  /// Bytes of layers [first, last) as this stage. They may depend on the stage, since micro-batches
  /// in flight do. Empty: memory is unlimited.
  std::function<double(int first, int last, int stage)> bytes = {};
  std::vector<double> memory = {};       // bytes of each stage's device, if `bytes` is set
  std::vector<std::string> layers = {};  // names, for error messages

  int size() const { return static_cast<int>(compute.size()); }
  /// Returns the seconds of a stage of layers [first, last): its work, and the transfers of its
  /// input and output.
  double load(int first, int last) const;
};

/// A cut and its bottleneck.
struct Partition {
  std::vector<int> begin;  // first layer of each stage, then the number of layers
  double bottleneck = 0;   // load of the slowest stage, seconds
};

/// Returns the cut that minimises the slowest stage's load, then the second slowest's, and so on,
/// exactly, within the memory limits. It uses dynamic programming over (stage, last layer), as in
/// Narayanan et al. 2019 but without replicas, in O(stages · layers²). Throws ConfigError if
/// nothing fits; the message names the binding constraint.
Partition partition(const PartitionProblem& problem);

}  // namespace penstock::partition
