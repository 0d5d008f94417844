#include "runtime/profiling/probe_topology.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/averages.h"
#include "base/host_memory.h"
#include "comm/collectives.h"
#include "runtime/devices/device.h"
#include "runtime/devices/rank_info.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/links/link_speeds.h"

// A job of n ranks has n (n - 1) directed links, too many to measure in a large job. Links within a
// node, and links between the same two nodes, are taken to be of equal hardware, so a few samples
// stand for all. The result is a cluster file's contents: devices, nodes, and a matrix of latencies
// and bandwidths.

namespace penstock::runtime {
namespace {

using Ranks = std::vector<int>;

std::vector<Ranks> ranks_of_nodes(const std::vector<int>& nodes) {
  std::vector<Ranks> ranks;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto node = static_cast<std::size_t>(nodes[rank]);
    ranks.resize(std::max(ranks.size(), node + 1));
    ranks[node].push_back(static_cast<int>(rank));
  }
  return ranks;
}

/// Adds every pair of ranks of a small node. In a larger one, adds neighbours and opposite ranks.
void add_within(const Ranks& node, RankPairs& pairs) {
  const std::size_t size = node.size();
  std::set<std::pair<int, int>> chosen;
  for (std::size_t one = 0; one < size; ++one)
    for (std::size_t other = one + 1; other < size; ++other) {
      const std::size_t apart = other - one;
      if (size <= kRanksOfEveryPair || apart == 1 || apart == size - 1 || apart == size / 2)
        chosen.emplace(node[one], node[other]);
    }
  pairs.insert(pairs.end(), chosen.begin(), chosen.end());
}

/// Returns a pair of ranks on two nodes, the smaller first. The choice varies with both nodes'
/// numbers, so that no rank takes part in all pairs.
std::pair<int, int> between(const std::vector<Ranks>& nodes, std::size_t one, std::size_t other,
                            std::size_t sample) {
  const auto rank = [&](std::size_t node, std::size_t met) {
    const std::size_t size = nodes[node].size();
    return nodes[node][(met + sample * std::max<std::size_t>(1, size / 2)) % size];
  };
  return std::minmax({rank(one, other), rank(other, one)});
}

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

RankPairs sampled_links(const std::vector<int>& nodes) {
  if (std::ssize(nodes) <= kRanksOfEveryPair) return every_pair(static_cast<int>(nodes.size()));
  const std::vector<Ranks> ranks = ranks_of_nodes(nodes);
  RankPairs pairs;
  for (const Ranks& node : ranks) add_within(node, pairs);
  for (std::size_t one = 0; one < ranks.size(); ++one)
    for (std::size_t other = one + 1; other < ranks.size(); ++other) {
      const auto first = between(ranks, one, other, 0), second = between(ranks, one, other, 1);
      pairs.push_back(first);
      if (second != first) pairs.push_back(second);
    }
  return pairs;
}

// In a class of which only samples were measured, these get the medians too: nothing tells which of
// their differences are noise.
std::vector<partition::LinkRates> rates_of_pairs(const std::vector<LinkSpeed>& measured,
                                                 const std::vector<int>& nodes) {
  const std::size_t ranks = nodes.size();
  std::vector<partition::LinkRates> rates(ranks * ranks, {0, 1});
  std::map<std::pair<int, int>, std::vector<double>> latencies, bandwidths;  // by node pair
  for (const LinkSpeed& speed : measured) {
    const auto from = static_cast<std::size_t>(speed.from), to = static_cast<std::size_t>(speed.to);
    rates[from * ranks + to] = {speed.latency_s, speed.bytes_per_s};
    latencies[{nodes[from], nodes[to]}].push_back(speed.latency_s);
    bandwidths[{nodes[from], nodes[to]}].push_back(speed.bytes_per_s);
  }
  std::map<std::pair<int, int>, std::vector<std::size_t>> places;
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to)
      if (from != to) places[{nodes[from], nodes[to]}].push_back(from * ranks + to);
  for (const auto& [way, of_way] : places) {
    if (latencies[way].size() == of_way.size()) continue;
    const partition::LinkRates middle{median(latencies[way]), median(bandwidths[way])};
    for (const std::size_t place : of_way) rates[place] = middle;
  }
  return rates;
}

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
