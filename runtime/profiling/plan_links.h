#pragma once

#include <map>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "partition/cluster/cluster.h"
#include "partition/plan/plan.h"
#include "runtime/devices/device.h"

namespace penstock::runtime {

/// Links between ranks that exchange messages under a plan.
struct PlanLinks {
  DeviceLinks links = DeviceLinks::host;                           // what was measured
  std::map<std::pair<int, int>, partition::LinkRates> rates = {};  // of ranks of the job
  double overlap = 1;                                              // the median; 1 without a link
  /// Of each rank's device, to the host's memory or back: bytes a second.
  std::vector<double> host_bandwidth = {};
};

/// Measures them as messages pass on the devices of that recipe (job_links.h); the host is taken to
/// be reached at kHostBandwidth. Every rank calls it, and gets all. Errors as of choose_device().
[[nodiscard]] PlanLinks measure_plan_links(const partition::Plan& plan,
                                           const configs::TrainerConfig& config,
                                           comm::Communicator& world);

/// The same of a cluster whose i-th device rank i runs on, as `penstock profile --links` writes it.
/// ConfigError where it has fewer devices than the plan has ranks.
[[nodiscard]] PlanLinks plan_links(const partition::Plan& plan, const partition::Cluster& cluster);

}  // namespace penstock::runtime
