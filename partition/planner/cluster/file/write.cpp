#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/averages.h"
#include "base/quantities.h"
#include "partition/planner/cluster/cluster_file.h"

// Measured links of one pair of nodes scatter. If they differ by little, a median stands for them,
// and the file stays as short as one written by hand: a [[link]] for each pair of nodes, and
// `within` for each node. One pair whose links really differ makes all of them a matrix.

namespace penstock::partition {
namespace {

constexpr double kAlike = 1.25;  // maximum ratio of largest to least

double gib(double bytes) { return std::isfinite(bytes) ? bytes / kGib : kUnlimitedGib; }

std::string inline_rates(const LinkRates& rates) {
  return fmt::format("latency_us = {:.4g}\ngb_per_s = {:.4g}\n", 1e6 * rates.latency,
                     1e-9 * rates.bandwidth);
}

bool alike(const std::vector<double>& numbers) {
  const auto [min, max] = std::ranges::minmax(numbers);
  return max <= kAlike * min;
}

/// Returns one link that stands for all links between two nodes, or nothing if they differ too
/// much.
std::optional<LinkRates> common(const std::vector<LinkRates>& links) {
  std::vector<double> latencies, bandwidths;
  for (const LinkRates& link : links) {
    latencies.push_back(link.latency);
    bandwidths.push_back(link.bandwidth);
  }
  if (!alike(latencies) || !alike(bandwidths)) return std::nullopt;
  return LinkRates{median(latencies), median(bandwidths)};
}

using NodePair = std::pair<int, int>;  // the smaller index first

/// Returns the links by the pair of nodes that they join, or nothing if links of one pair differ
/// too much.
std::optional<std::map<NodePair, LinkRates>> links_of_nodes(const Cluster& cluster) {
  std::map<NodePair, std::vector<LinkRates>> links;
  for (int from = 0; from < cluster.size(); ++from)
    for (int to = 0; to < cluster.size(); ++to)
      if (from != to)
        links[std::minmax(cluster.devices[from].node, cluster.devices[to].node)].push_back(
            cluster.link(from, to));
  std::map<NodePair, LinkRates> all;
  for (const auto& [nodes, list] : links) {
    const auto one = common(list);
    if (!one) return std::nullopt;
    all[nodes] = *one;
  }
  return all;
}

/// Formats both matrices, a row for each sender. The diagonal is 0, which readers ignore.
std::string matrix_text(const Cluster& cluster) {
  const auto rows = [&](double LinkRates::*rate, double unit) {
    std::string text;
    for (int from = 0; from < cluster.size(); ++from) {
      std::vector<std::string> row;
      for (int to = 0; to < cluster.size(); ++to)
        row.push_back(from == to ? "0"
                                 : fmt::format("{:.4g}", cluster.link(from, to).*rate * unit));
      text += fmt::format("  [{}],\n", fmt::join(row, ", "));
    }
    return text;
  };
  return fmt::format("\n[matrix]\nlatency_us = [\n{}]\ngb_per_s = [\n{}]\n",
                     rows(&LinkRates::latency, 1e6), rows(&LinkRates::bandwidth, 1e-9));
}

/// Formats the kinds by name. The first device of a kind stands for all of them.
std::string kinds_text(const Cluster& cluster) {
  std::map<std::string, const Device*> kinds;
  for (const Device& device : cluster.devices) kinds.emplace(device.kind, &device);
  std::string text;
  for (const auto& [name, device] : kinds) {
    text += fmt::format("\n[kinds.\"{}\"]\nmemory_gib = {:.4g}\nspeed = {:.4g}\n", name,
                        gib(device->memory), device->speed);
    if (device->host_bandwidth != kHostBandwidth)
      text += fmt::format("host_gb_per_s = {:.4g}\n", 1e-9 * device->host_bandwidth);
    if (device->price_per_hour > 0)
      text += fmt::format("price_per_hour = {:.4g}\n", device->price_per_hour);
  }
  return text;
}

/// Formats a node with its kinds in the order of their first devices. A file can't say that kinds
/// alternate, so devices of a kind must be neighbours for their indices to survive.
std::string node_text(const Cluster& cluster, int node,
                      const std::map<NodePair, LinkRates>* links) {
  std::vector<std::pair<std::string, int>> kinds;  // in the order of the devices
  for (const Device& device : cluster.devices) {
    if (device.node != node) continue;
    const auto known = std::ranges::find(kinds, device.kind, &std::pair<std::string, int>::first);
    if (known == kinds.end())
      kinds.emplace_back(device.kind, 1);
    else
      ++known->second;
  }
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(fmt::format("\"{}\" = {}", kind, count));
  std::string text = fmt::format("\n[[node]]\nname = \"{}\"\ndevices = {{ {} }}\n",
                                 cluster.nodes[node], fmt::join(counts, ", "));
  std::set<int> adapters;
  int devices = 0;
  for (int device = 0; device < cluster.size() && !cluster.adapters.empty(); ++device) {
    if (cluster.devices[device].node != node) continue;
    adapters.insert(cluster.adapters[device]);
    ++devices;
  }
  // A reader deals adapters evenly to a node's devices, so their number says all.
  if (std::ssize(adapters) < devices) text += fmt::format("adapters = {}\n", adapters.size());
  if (links == nullptr) return text;
  const auto within = links->find({node, node});
  if (within != links->end())
    text += fmt::format("[node.within]\n{}", inline_rates(within->second));
  return text;
}

}  // namespace

std::string cluster_toml(const Cluster& cluster) {
  const auto links = links_of_nodes(cluster);
  std::string text =
      fmt::format("margin = {:.4g}\noverlap = {:.4g}\n", cluster.margin, cluster.overlap);
  text += kinds_text(cluster);
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node)
    text += node_text(cluster, node, links ? &*links : nullptr);
  if (!links) return text + matrix_text(cluster);
  for (const auto& [nodes, rates] : *links)
    if (nodes.first != nodes.second)
      text += fmt::format("\n[[link]]\nnodes = [\"{}\", \"{}\"]\n{}", cluster.nodes[nodes.first],
                          cluster.nodes[nodes.second], inline_rates(rates));
  return text;
}

}  // namespace penstock::partition
