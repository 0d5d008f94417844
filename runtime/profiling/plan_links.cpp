#include "runtime/profiling/plan_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/averages.h"
#include "base/error.h"
#include "base/quantities.h"
#include "runtime/devices/rank_info.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/links/link_speeds.h"

namespace penstock::runtime {
namespace {

/// Returns the pairs of ranks that hold neighbouring chunks of a replica, each once.
RankPairs pairs_of(const partition::Plan& plan) {
  std::set<std::pair<int, int>> pairs;
  for (std::size_t c = 0; c + 1 < plan.chunks.size(); ++c)
    for (int replica = 0; replica < plan.replicas(); ++replica) {
      const int from = plan.ranks[plan.chunks[c].stage][replica];
      const int to = plan.ranks[plan.chunks[c + 1].stage][replica];
      if (from != to) pairs.insert(std::minmax({from, to}));
    }
  return {pairs.begin(), pairs.end()};
}

}  // namespace

PlanLinks measure_plan_links(const partition::Plan& plan, const configs::TrainerConfig& config,
                             comm::Communicator& world) {
  const RankDevice device = choose_device(config, world);
  const OpenLink open = job_links(world, device);
  const RankPairs pairs = pairs_of(plan);
  PlanLinks measured{.links = device.links};
  const std::vector<int> nodes = nodes_of(world).of_rank;
  for (const LinkSpeed& speed : link_speeds(world, pairs, open, nodes))
    measured.rates[{speed.from, speed.to}] = {speed.latency_s, speed.bytes_per_s};
  const std::vector<double> overlaps = link_overlaps(world, pairs, open, nodes);
  if (!overlaps.empty()) measured.overlap = median(overlaps);
  measured.host_bandwidth.assign(static_cast<std::size_t>(plan.world_size()),
                                 partition::kHostBandwidth);
  return measured;
}

PlanLinks plan_links(const partition::Plan& plan, const partition::Cluster& cluster) {
  if (cluster.size() < plan.world_size())
    throw ConfigError(
        fmt::format("the cluster file has {}, but the plan {}: measure the links of as many ranks "
                    "with penstock "
                    "profile --links",
                    counted(cluster.size(), "device"), counted(plan.world_size(), "rank")));
  PlanLinks links{.overlap = cluster.overlap};
  for (const auto& [from, to] : pairs_of(plan)) {
    links.rates[{from, to}] = cluster.link(from, to);
    links.rates[{to, from}] = cluster.link(to, from);
  }
  for (int rank = 0; rank < plan.world_size(); ++rank)
    links.host_bandwidth.push_back(cluster.devices[static_cast<std::size_t>(rank)].host_bandwidth);
  return links;
}

}  // namespace penstock::runtime
