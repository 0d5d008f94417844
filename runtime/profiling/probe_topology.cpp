#include "runtime/profiling/probe_topology.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/host_memory.h"
#include "base/median.h"
#include "comm/collectives.h"
#include "runtime/devices/device.h"
#include "runtime/devices/rank_nodes.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/link_samples.h"
#include "runtime/profiling/links/link_overlap.h"

namespace penstock::runtime {
namespace {

std::vector<double> numbers_of_all(comm::Communicator& world, double own) {
  std::vector<double> numbers(world.size());
  numbers[world.rank()] = own;
  comm::sum_disjoint(world, numbers);
  return numbers;
}

/// Returns the ranks sorted by node, in their order within a node.
std::vector<int> ranks_by_node(const std::vector<int>& node_of) {
  std::vector<int> ranks(node_of.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return node_of[rank]; });
  return ranks;
}

}  // namespace

ProbedTopology probe_topology(comm::Communicator& world) {
  const RankDevice own = choose_device(configs::TrainerConfig{}, world);
  const bool on_cpu = own.backend->kind() == layers::DeviceKind::cpu;
  const auto [names, node_of] = nodes_of(world);
  const auto kinds = texts_of_ranks(world, on_cpu ? "cpu" : own.backend->model());
  const auto sharing = static_cast<double>(std::ranges::count(node_of, node_of[world.rank()]));
  const auto memory = numbers_of_all(
      world, on_cpu ? host_memory() / sharing : static_cast<double>(own.backend->free_memory()));

  const std::vector<int> ranks = ranks_by_node(node_of);
  partition::Cluster cluster;
  cluster.nodes = names;
  for (const int rank : ranks)
    cluster.devices.push_back({.kind = kinds[rank], .memory = memory[rank], .node = node_of[rank]});
  const OpenLink open = job_links(world, own);
  const auto rates =
      rates_of_pairs(link_speeds(world, sampled_links(node_of), open, node_of), node_of);
  for (const int from : ranks)
    for (const int to : ranks) cluster.exact_links.push_back(rates[from * world.size() + to]);
  const auto overlaps = link_overlaps(world, neighbours(world.size()), open, node_of);
  if (!overlaps.empty()) cluster.overlap = median(overlaps);
  return {cluster, own.links};
}

}  // namespace penstock::runtime
