#pragma once

#include "partition/placement/problem.h"
#include "partition/simulate/joint_step.h"

namespace penstock::partition {

/// The adapters that messages between nodes pass: one's way out, another's way in. Each is as wide
/// as the widest link between nodes of the devices that share it.
SharedLinks shared_adapters(const Cluster& cluster, const Placement& placement);

/// slowest_of_ring() of a stage's devices where all stages' rings are under way: those that leave a
/// node by one adapter, or enter it by one, share it.
LinkRates slowest_of_rings(const Cluster& cluster, const Placement& placement, int stage);

}  // namespace penstock::partition
