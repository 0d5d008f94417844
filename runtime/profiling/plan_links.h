#pragma once

#include <map>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/plan/plan.h"
#include "runtime/devices/device.h"

namespace penstock::runtime {

/// Links between the ranks that exchange messages under a plan.
struct PlanLinks {
  DeviceLinks links = DeviceLinks::host;                           // kind of link that was measured
  std::map<std::pair<int, int>, partition::LinkRates> rates = {};  // by the job's ranks
  double overlap = 1;                                              // median; 1 if there is no link
  /// Bytes per second between each rank's device and the host's memory, in either direction.
  std::vector<double> host_bandwidth = {};
};

/// Measures the links as messages pass between the recipe's devices (job_links.h). The bandwidth to
/// the host is assumed to be kHostBandwidth. All ranks call this together and get all rates. Throws
/// like choose_device().
[[nodiscard]] PlanLinks measure_plan_links(const partition::Plan& plan,
                                           const configs::TrainerConfig& config,
                                           comm::Communicator& world);

/// Returns the links of a cluster whose i-th device belongs to rank i, as `penstock profile
/// --links` writes it. Throws ConfigError if it has fewer devices than the plan has ranks.
[[nodiscard]] PlanLinks plan_links(const partition::Plan& plan, const partition::Cluster& cluster);

}  // namespace penstock::runtime
