#pragma once

#include <optional>
#include <random>

#include "partition/planner/placement/search.h"

namespace penstock::test {

/// Describes what is to be placed, before anything of the planner's has touched it.
struct Instance {
  partition::SequenceProfile sequence;
  partition::Cluster cluster;
  partition::Objective objective = partition::Objective::step;
  int micro_batches = 1;
  partition::GridConstraints constraints;

  partition::PlacementProblem problem() const;
};

struct InstanceSize {
  int max_layers = 8, min_devices = 1, max_devices = 5;
};

/// At most 8 layers on 5 devices unless told otherwise: mixed or equal speeds, memories and links,
/// in nodes or by a full matrix; in some the memory suffices nowhere.
Instance random_instance(std::mt19937& random, const InstanceSize& size = {});

/// Gives all devices of a node the speed of its first, so that nodes part fast and slow ones.
void level_nodes(partition::Cluster& cluster);

/// The objective of a cut and a placement from its definition, or nothing where memory does not
/// suffice.
std::optional<double> value_of(const Instance& instance, const std::vector<int>& begin,
                               const partition::Placement& devices);

/// The least value of all cuts of all grids on all permutations of devices.
std::optional<double> try_all(const Instance& instance);

}  // namespace penstock::test
