#pragma once

#include "partition/planner/placement/problem.h"
#include "partition/planner/simulate/joint_step.h"

namespace penstock::partition {

/// Returns the shared links of messages between nodes: the sender's adapter outwards, then the
/// receiver's adapter inwards. The bandwidth of each is that of the widest link between nodes of
/// the devices that share the adapter. `cluster` must outlive the result.
SharedLinks shared_adapters(const Cluster& cluster, const Placement& placement);

/// Same as slowest_of_ring() for a stage's devices, while the rings of all stages run at once.
/// Rings that leave or enter nodes by the same adapter share its bandwidth.
LinkRates slowest_of_rings(const Cluster& cluster, const Placement& placement, int stage);

}  // namespace penstock::partition
