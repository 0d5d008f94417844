#include "runtime/profiling/probe_topology.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/host_memory.h"
#include "base/median.h"
#include "comm/collectives.h"
#include "comm/link_overlap.h"
#include "runtime/devices/device.h"
#include "runtime/profiling/job_links.h"

namespace penstock::runtime {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// One rank's text on all ranks, by rank.
std::vector<std::string> of_all(comm::Communicator& world, const std::string& own) {
  std::vector<std::string> all;
  const auto gathered = comm::gather(world, own);
  for (int rank = 0; rank < world.size(); ++rank)
    all.push_back(comm::broadcast(world, world.rank() == 0 ? gathered[rank] : std::string()));
  return all;
}

std::vector<double> numbers_of_all(comm::Communicator& world, double own) {
  std::vector<double> numbers(world.size());
  numbers[world.rank()] = own;
  comm::sum_disjoint(world, numbers);
  return numbers;
}

/// Ranks, those of a host behind each other, and the hosts' names.
struct RanksByNode {
  std::vector<int> ranks;
  std::vector<int> nodes;  // of each of them
  std::vector<std::string> names;
};

RanksByNode by_node(const std::vector<std::string>& hosts) {
  RanksByNode by_node_;
  for (const std::string& host : hosts) {
    if (std::ranges::count(by_node_.names, host) != 0) continue;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (hosts[rank] != host) continue;
      by_node_.ranks.push_back(static_cast<int>(rank));
      by_node_.nodes.push_back(static_cast<int>(by_node_.names.size()));
    }
    by_node_.names.push_back(host);
  }
  return by_node_;
}

}  // namespace

ProbedTopology probe_topology(comm::Communicator& world) {
  const RankDevice own = choose_device(configs::TrainerConfig{}, world);
  const bool on_cpu = own.backend->kind() == layers::DeviceKind::cpu;
  const auto hosts = of_all(world, host_name());
  const auto kinds = of_all(world, on_cpu ? "cpu" : own.backend->model());
  const auto sharing = static_cast<double>(std::ranges::count(hosts, hosts[world.rank()]));
  const auto memory = numbers_of_all(
      world, on_cpu ? host_memory() / sharing : static_cast<double>(own.backend->free_memory()));

  const RanksByNode by_node_ = by_node(hosts);
  partition::Cluster cluster;
  cluster.nodes = by_node_.names;
  for (std::size_t i = 0; i < by_node_.ranks.size(); ++i)
    cluster.devices.push_back({.kind = kinds[by_node_.ranks[i]],
                               .memory = memory[by_node_.ranks[i]],
                               .node = by_node_.nodes[i]});
  std::vector<partition::LinkRates> rates(world.size() * world.size(), {0, 1});
  const comm::OpenLink open = job_links(world, own);
  for (const comm::LinkSpeed& speed :
       comm::link_speeds(world, comm::every_pair(world.size()), open))
    rates[speed.from * world.size() + speed.to] = {speed.latency_s, speed.bytes_per_s};
  for (const int from : by_node_.ranks)
    for (const int to : by_node_.ranks)
      cluster.exact_links.push_back(rates[from * world.size() + to]);
  const auto overlaps = comm::link_overlaps(world, comm::neighbours(world.size()), open);
  if (!overlaps.empty()) cluster.overlap = median(overlaps);
  return {cluster, own.links};
}

}  // namespace penstock::runtime
