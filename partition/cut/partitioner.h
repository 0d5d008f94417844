#pragma once

#include <functional>
#include <string>
#include <vector>

namespace penstock::partition {

/// A layer sequence to be cut into contiguous stages. Layer i has `compute[i]` seconds of work
/// for a micro-batch, and what leaves it takes `transfer[i]` seconds to another stage.
struct PartitionProblem {
  std::vector<double> compute;
  std::vector<double> transfer;
  int stages = 1;
  int chunks_a_rank = 1;  // more than 1: `stages` are chunks of a schedule; for errors
  /// Bytes that layers [first, last) need as this stage; it may depend on the stage, whose
  /// activations in flight do. Empty: memory is no constraint.
  std::function<double(int first, int last, int stage)> bytes = {};
  std::vector<double> memory = {};       // bytes of each stage's device, where `bytes` is given
  std::vector<std::string> layers = {};  // names, for errors

  int size() const { return static_cast<int>(compute.size()); }
  /// Seconds of a stage of layers [first, last): its compute, and the transfers of the tensor
  /// that enters it and of the one that leaves it.
  double load(int first, int last) const;
};

struct Partition {
  std::vector<int> begin;  // first layer of each stage, then the number of layers
  double bottleneck = 0;   // load of the slowest stage, seconds
};

/// The cut whose slowest stage is fastest, exactly, under the memory limits; among those the one
/// whose second slowest is fastest, and so on. Dynamic programming over (stage, last layer),
/// O(stages · layers²) (Narayanan et al. 2019, without its replicas). ConfigError says which
/// constraint binds where nothing fits.
Partition partition(const PartitionProblem& problem);

}  // namespace penstock::partition
