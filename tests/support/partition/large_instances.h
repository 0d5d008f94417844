#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/support/partition/tried_placements.h"

namespace penstock::test {

/// So many layers of a few milliseconds, some GB of parameters in all, on a cluster of
/// configs/clusters/.
Instance large_instance(std::mt19937& random, int layers, const std::string& cluster);

/// The devices of the second half of the nodes at so much of their speed, and links between nodes
/// of so many bytes a second.
void slow_down(Instance& instance, double speed, double between);

/// The same of every second device of each node.
void share_nodes(Instance& instance, double speed, double between);

/// Three eighths of the nodes at full speed, two at 0.6 and three at 0.3 times that; links between
/// nodes of so many bytes a second.
void make_three_kinds(Instance& instance, double between);

/// Returns a bound that no cut and placement can beat, as if all devices and links were as good as
/// the best. It holds, for each grid, the least bottleneck of the work alone, by filling stage
/// after stage, and sums of what all stages must do, where rings larger than a node use a link
/// between nodes. Shares no code with the planner, and knows nothing of memory.
double plain_bound(const Instance& instance);

/// A cut and placement a few random moves away from a given one.
struct Moved {
  std::vector<int> begin;
  partition::Placement devices;
};
Moved moved(std::mt19937& random, const Instance& instance, Moved from, int moves);

}  // namespace penstock::test
