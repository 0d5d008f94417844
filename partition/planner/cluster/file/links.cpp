#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/name_match.h"
#include "partition/planner/cluster/file/cluster_source.h"

// Links come from general to special: [between] sets all pairs of nodes, `within` the pairs inside
// a node, and each [[link]] its pair of nodes in both directions. A pair that no table sets is a
// fault. A [matrix] gives every pair of devices by itself, and allows none of the others.

namespace penstock::partition {
namespace {

constexpr double kUnknown = -1;  // bandwidth of a link that the file does not give

/// Takes the links from the matrix, whose row is the sender. Sizes are checked first: a matrix with
/// a row too few would otherwise be read past its end.
void add_matrix(ClusterSource& source, Cluster& cluster) {
  const LinkMatrix& matrix = *source.matrix;
  const std::size_t devices = cluster.devices.size();
  for (const auto* rows : {&matrix.latency_us, &matrix.gb_per_s}) {
    const bool square = rows->size() == devices && std::ranges::all_of(*rows, [&](const auto& row) {
                          return row.size() == devices;
                        });
    if (square) continue;
    source.fault(matrix.line,
                 fmt::format("matrix.{} must have a row for each of the {} devices, with a "
                             "number for each",
                             rows == &matrix.gb_per_s ? "gb_per_s" : "latency_us", devices));
    return;
  }
  if (source.between || !source.links.empty())
    source.fault(matrix.line,
                 "[matrix] already gives every link: leave out [between] and [[link]]");
  for (const NodeGroup& group : source.groups)
    if (group.within)
      source.fault(
          group.line,
          fmt::format("[matrix] already gives every link: leave out node {}'s within", group.name));
  for (std::size_t from = 0; from < devices; ++from)
    for (std::size_t to = 0; to < devices; ++to)
      cluster.exact_links.push_back(
          rates_of(matrix.latency_us[from][to], matrix.gb_per_s[from][to]));
}

/// Returns the node's index. Returns nothing, after adding a fault, if there is no node of that
/// name.
std::optional<std::size_t> node_of(ClusterSource& source, const Cluster& cluster,
                                   const std::string& name, int line) {
  const auto found = std::ranges::find(cluster.nodes, name);
  if (found != cluster.nodes.end()) return found - cluster.nodes.begin();
  const std::vector<std::string_view> names(cluster.nodes.begin(), cluster.nodes.end());
  source.fault(line, fmt::format("link.nodes names {}, which no [[node]] is{}", name,
                                 did_you_mean(name, names)));
  return std::nullopt;
}

/// Sets the links within nodes. A node with one device needs none, and gets an infinite bandwidth.
void add_within(ClusterSource& source, Cluster& cluster) {
  std::size_t node = 0;
  for (const NodeGroup& group : source.groups) {
    int devices = 0;
    for (const auto& [kind, count] : group.devices) devices += count;
    if (!group.within && devices > 1)
      source.fault(group.line, fmt::format("missing link: node {} has {} devices, say within = "
                                           "{{ latency_us = …, gb_per_s = … }}",
                                           group.name, devices));
    for (int i = 0; i < group.count; ++i, ++node)
      cluster.node_links[node * cluster.nodes.size() + node] = group.within.value_or(
          LinkRates{.latency = 0, .bandwidth = std::numeric_limits<double>::infinity()});
  }
}

/// Adds one fault for all pairs of nodes without a link, which names the first pair and counts the
/// rest. Both directions are always set together, so one of them is looked at.
void require_all_links(ClusterSource& source, const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes.size();
  std::size_t missing = 0;
  std::string first;
  for (std::size_t from = 0; from < nodes; ++from)
    for (std::size_t to = 0; to < from; ++to) {
      if (cluster.node_links[from * nodes + to].bandwidth != kUnknown) continue;
      if (missing++ == 0) first = fmt::format("{} and {}", cluster.nodes[to], cluster.nodes[from]);
    }
  if (missing > 0)
    source.fault(
        source.groups.back().line,
        fmt::format("missing link: none between nodes {}{}; add [[link]] nodes = [\"…\", "
                    "\"…\"], or [between] for all",
                    first,
                    missing == 1 ? "" : fmt::format(", nor between {} other pairs", missing - 1)));
}

}  // namespace

void add_links(ClusterSource& source, Cluster& cluster) {
  if (source.matrix) return add_matrix(source, cluster);
  const std::size_t nodes = cluster.nodes.size();
  cluster.node_links.assign(nodes * nodes,
                            source.between.value_or(LinkRates{.bandwidth = kUnknown}));
  add_within(source, cluster);
  std::set<std::pair<std::size_t, std::size_t>> linked;
  for (const NodeLink& link : source.links) {
    const auto a = node_of(source, cluster, link.nodes[0], link.line);
    const auto b = node_of(source, cluster, link.nodes[1], link.line);
    if (!a || !b) continue;
    if (*a == *b)
      source.fault(link.line, fmt::format("link.nodes names {} twice: links inside a node are its "
                                          "`within`",
                                          link.nodes[0]));
    // Two tables for one pair, in either order, would make the link depend on their order in the
    // file.
    const auto [first, second] = std::minmax(*a, *b);
    if (!linked.insert({first, second}).second)
      source.fault(link.line, fmt::format("two links join nodes {} and {}: leave one out",
                                          link.nodes[0], link.nodes[1]));
    cluster.node_links[*a * nodes + *b] = cluster.node_links[*b * nodes + *a] = link.rates;
  }
  require_all_links(source, cluster);
}

}  // namespace penstock::partition
