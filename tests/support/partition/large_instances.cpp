#include "tests/support/partition/large_instances.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "partition/planner/cluster/cluster_file.h"
#include "tests/support/tree/sources.h"

namespace penstock::test {

Instance large_instance(std::mt19937& random, int layers, const std::string& cluster) {
  const auto sample = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Instance instance{
      .sequence = {.name = "large", .layers = {}},
      .cluster = partition::read_cluster(source("configs/clusters/" + cluster + ".toml")),
      .constraints = {}};
  for (int i = 0; i < layers; ++i)
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = sample(0.5, 2),
                                        .backward_ms = sample(1, 4),
                                        .activation_bytes = sample(1e6, 1e7),
                                        .parameter_bytes = sample(1e6, 5e7)});
  instance.micro_batches = 4 * instance.cluster.size();
  return instance;
}

namespace {

void narrow(partition::Cluster& cluster, double between) {
  const std::size_t nodes = cluster.nodes.size();
  for (std::size_t link = 0; link < nodes * nodes; ++link)
    if (link / nodes != link % nodes) cluster.node_links[link].bandwidth = between;
}

}  // namespace

void slow_down(Instance& instance, double speed, double between) {
  partition::Cluster& cluster = instance.cluster;
  for (partition::Device& device : cluster.devices)
    if (device.node >= std::ssize(cluster.nodes) / 2) device.speed *= speed;
  narrow(cluster, between);
}

void share_nodes(Instance& instance, double speed, double between) {
  partition::Cluster& cluster = instance.cluster;
  for (std::size_t i = 0; i < cluster.devices.size(); i += 2) cluster.devices[i].speed *= speed;
  narrow(cluster, between);
}

void make_three_kinds(Instance& instance, double between) {
  partition::Cluster& cluster = instance.cluster;
  for (partition::Device& device : cluster.devices)
    device.speed *= device.node % 8 < 3 ? 1 : device.node % 8 < 5 ? 0.6 : 0.3;
  narrow(cluster, between);
}

namespace {

/// The least bottleneck of a list cut into so many parts, from below: filling parts one after the
/// other up to a limit needs the fewest.
double min_bottleneck(const std::vector<double>& seconds, int parts) {
  double low = 0, high = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (const double own : seconds) low = std::max(low, own);
  for (int i = 0; i < 40; ++i) {
    const double limit = (low + high) / 2;
    int needed = 1;
    double filled = 0;
    for (const double own : seconds) {
      needed += filled + own > limit;
      filled = filled + own > limit ? own : filled + own;
    }
    if (needed > parts)
      low = limit;
    else
      high = limit;
  }
  return low;
}

}  // namespace

double plain_bound(const Instance& instance) {
  std::vector<double> seconds;
  double parameters = 0, min_bytes = std::numeric_limits<double>::infinity();
  double speed = 0, width = 0, latency = std::numeric_limits<double>::infinity();
  for (const partition::LayerProfile& layer : instance.sequence.layers) {
    seconds.push_back((layer.forward_ms + layer.backward_ms) / 1000);
    parameters += layer.parameter_bytes;
    min_bytes = std::min(min_bytes, layer.activation_bytes);
  }
  for (const partition::Device& device : instance.cluster.devices)
    speed = std::max(speed, device.speed);
  const std::size_t nodes = instance.cluster.nodes.size();
  double between = 0;
  for (std::size_t i = 0; i < nodes * nodes; ++i) {
    const partition::LinkRates& link = instance.cluster.node_links[i];
    width = std::max(width, link.bandwidth);
    latency = std::min(latency, link.latency);
    if (i / nodes != i % nodes) between = std::max(between, link.bandwidth);
  }
  std::vector<int> in_node(nodes, 0);
  for (const partition::Device& device : instance.cluster.devices) ++in_node[device.node];
  const int largest_node = *std::ranges::max_element(in_node);
  const double work = std::accumulate(seconds.begin(), seconds.end(), 0.0) / speed;
  const double message = 2 * (latency + min_bytes / width);
  const int layers = static_cast<int>(seconds.size()), devices = instance.cluster.size();
  double min = std::numeric_limits<double>::infinity();
  for (int stages = 1; stages <= std::min(layers, devices); ++stages) {
    const double bottleneck = min_bottleneck(seconds, stages) / speed;
    for (int replicas = 1; stages * replicas <= devices && replicas <= instance.micro_batches;
         ++replicas) {
      const int runs = (instance.micro_batches + replicas - 1) / replicas;
      const double round = 2.0 * (replicas - 1) / runs;
      const double sum =
          work + 2 * (stages - 1) * message +
          round * (stages * latency +
                   parameters / replicas / (replicas > largest_node ? between : width));
      const double slowest =
          std::max(sum / stages, bottleneck + (stages > 1 ? message : 0) + round * latency);
      min = std::min(min, instance.objective == partition::Objective::bottleneck
                              ? slowest
                              : sum + (runs - 1) * slowest);
    }
  }
  return min;
}

Moved moved(std::mt19937& random, const Instance& instance, Moved from, int moves) {
  const int stages = static_cast<int>(from.devices.size());
  const int replicas = static_cast<int>(from.devices.front().size());
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  for (int i = 0; i < moves; ++i) {
    if (stages > 1 && below(2) == 0) {
      const int k = 1 + below(stages - 1);
      const int to = from.begin[k] + (below(2) == 0 ? 1 : -1);
      if (to > from.begin[k - 1] && to < from.begin[k + 1]) from.begin[k] = to;
      continue;
    }
    int& device = from.devices[below(stages)][below(replicas)];
    const int other = below(instance.cluster.size());
    for (auto& stage : from.devices) std::ranges::replace(stage, other, -1);
    const int old = std::exchange(device, other);
    for (auto& stage : from.devices) std::ranges::replace(stage, -1, old);
  }
  return from;
}

}  // namespace penstock::test
