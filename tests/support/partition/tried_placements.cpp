#include "tests/support/partition/tried_placements.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace penstock::test {
namespace {

/// Seconds of a stage's layers for one micro-batch on its slowest replica, with its share of
/// adding gradients.
struct StageTime {
  const Instance& instance;
  const std::vector<int>& begin;
  const partition::Placement& devices;

  /// Activations there, their gradient back.
  double message(int boundary, int from, int to) const {
    const double bytes = instance.sequence.layers[boundary - 1].activation_bytes;
    const partition::LinkRates &there = instance.cluster.link(from, to),
                               &back = instance.cluster.link(to, from);
    return there.latency + bytes / there.bandwidth + back.latency + bytes / back.bandwidth;
  }
  double compute_and_messages(std::size_t k, std::size_t r) const {
    double seconds = 0;
    for (int i = begin[k]; i < begin[k + 1]; ++i)
      seconds +=
          (instance.sequence.layers[i].forward_ms + instance.sequence.layers[i].backward_ms) /
          1000 / instance.cluster.devices[devices[k][r]].speed;
    if (k > 0) seconds += message(begin[k], devices[k - 1][r], devices[k][r]);
    if (k + 1 < devices.size()) seconds += message(begin[k + 1], devices[k][r], devices[k + 1][r]);
    return seconds;
  }
  double reduction(std::size_t k) const {
    std::vector<int> ring = devices[k];
    const auto replicas = static_cast<double>(ring.size());
    if (replicas == 1) return 0;
    std::ranges::sort(ring);
    double latency = 0, per_byte = 0, bytes = 0;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const partition::LinkRates& link =
          instance.cluster.link(ring[(i + ring.size() - 1) % ring.size()], ring[i]);
      latency = std::max(latency, link.latency);
      per_byte = std::max(per_byte, 1 / link.bandwidth);
    }
    for (int i = begin[k]; i < begin[k + 1]; ++i)
      bytes += instance.sequence.layers[i].parameter_bytes;
    const std::size_t max = (instance.micro_batches + devices[k].size() - 1) / devices[k].size();
    const auto runs = static_cast<double>(max);
    return 2 * (replicas - 1) * (latency + bytes / replicas * per_byte) / runs;
  }
};

double bytes_of(const Instance& instance, const std::vector<int>& begin, std::size_t k,
                int in_flight) {
  const auto& layers = instance.sequence.layers;
  const double entering = begin[k] > 0 ? layers[begin[k] - 1].activation_bytes : 0;
  const bool last = k + 2 == begin.size();
  double bytes = entering + (last ? 0 : layers[begin[k + 1] - 1].activation_bytes);
  for (int i = begin[k]; i < begin[k + 1]; ++i)
    bytes += 4 * layers[i].parameter_bytes + in_flight * layers[i].activation_bytes;
  return bytes + in_flight * entering;
}

bool fits(const Instance& instance, const std::vector<int>& begin,
          const partition::Placement& devices) {
  const int stages = static_cast<int>(devices.size());
  const int replicas = static_cast<int>(devices.front().size());
  const int runs = (instance.micro_batches + replicas - 1) / replicas;
  for (int k = 0; k < stages; ++k) {
    const double bytes = bytes_of(instance, begin, k, std::min(runs, stages - k));
    for (const int device : devices[k])
      if (bytes > instance.cluster.devices[device].memory * (1 - instance.cluster.margin))
        return false;
  }
  return true;
}

/// Calls `visit` with every cut of `layers` layers into `stages` stages.
void for_cuts(int layers, int stages, const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> begin{0};
  std::function<void()> extend = [&] {
    if (static_cast<int>(begin.size()) == stages) {
      begin.push_back(layers);
      visit(begin);
      begin.pop_back();
      return;
    }
    for (int next = begin.back() + 1; next < layers; ++next) {
      begin.push_back(next);
      extend();
      begin.pop_back();
    }
  };
  extend();
}

void for_placements(int devices, partition::Grid grid,
                    const std::function<void(const partition::Placement&)>& visit) {
  std::vector<int> order;
  std::vector<bool> used(devices, false);
  std::function<void()> extend = [&] {
    if (static_cast<int>(order.size()) == grid.slots()) {
      partition::Placement placement(grid.stages);
      for (int slot = 0; slot < grid.slots(); ++slot)
        placement[slot / grid.replicas].push_back(order[slot]);
      visit(placement);
      return;
    }
    for (int device = 0; device < devices; ++device) {
      if (used[device]) continue;
      used[device] = true;
      order.push_back(device);
      extend();
      order.pop_back();
      used[device] = false;
    }
  };
  extend();
}

class Sampler {
 public:
  explicit Sampler(std::mt19937& random) : random_(random) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return whole(1, n) == 1; }

 private:
  std::mt19937& random_;
};

partition::Cluster random_cluster(Sampler& sample, const InstanceSize& size) {
  partition::Cluster cluster;
  const int nodes = sample.whole(1, 3);
  const int devices = sample.whole(size.min_devices, size.max_devices);
  const bool mixed = !sample.one_in(3), tight = sample.one_in(2);
  for (int i = 0; i < nodes; ++i) cluster.nodes.push_back("n" + std::to_string(i));
  for (int i = 0; i < devices; ++i)
    cluster.devices.push_back({.kind = "k",
                               .memory = tight ? sample.whole(20, 120) : 1e9,
                               .speed = mixed ? 0.5 * sample.whole(1, 4) : 1,
                               .node = i * nodes / devices});
  if (sample.one_in(4)) cluster.margin = 0.1;
  const auto link = [&] {
    return partition::LinkRates{.latency = 1e-4 * sample.whole(0, 9),
                                .bandwidth = 1e3 * sample.whole(1, 20)};
  };
  const partition::LinkRates same = link();
  for (int i = 0; i < nodes * nodes; ++i)
    cluster.node_links.push_back(sample.one_in(2) ? same : link());
  if (!sample.one_in(3)) return cluster;
  for (int i = 0; i < devices * devices; ++i) cluster.exact_links.push_back(link());
  return cluster;
}

}  // namespace

partition::PlacementProblem Instance::problem() const {
  return {.sequence = partition::SequenceLoad(sequence, partition::SequenceLoad::Crossing::bytes),
          .cluster = cluster,
          .objective = objective,
          .micro_batches = micro_batches};
}

Instance random_instance(std::mt19937& random, const InstanceSize& size) {
  Sampler sample(random);
  Instance instance{
      .sequence = {.name = "random", .layers = {}},
      .cluster = random_cluster(sample, size),
      .objective = sample.one_in(3) ? partition::Objective::bottleneck : partition::Objective::step,
      .micro_batches = sample.whole(1, 12),
      .constraints = {}};
  const int layers = sample.whole(1, size.max_layers);
  for (int i = 0; i < layers; ++i)
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = 1.0 * sample.whole(0, 9),
                                        .backward_ms = 1.0 * sample.whole(0, 9),
                                        .activation_bytes = 1.0 * sample.whole(0, 9),
                                        .parameter_bytes = 1.0 * sample.whole(0, 9)});
  if (sample.one_in(2))
    instance.constraints.stages = sample.whole(1, std::min(layers, instance.cluster.size()));
  return instance;
}

void level_nodes(partition::Cluster& cluster) {
  for (std::size_t i = 1; i < cluster.devices.size(); ++i)
    if (cluster.devices[i].node == cluster.devices[i - 1].node)
      cluster.devices[i].speed = cluster.devices[i - 1].speed;
}

std::optional<double> value_of(const Instance& instance, const std::vector<int>& begin,
                               const partition::Placement& devices) {
  if (!fits(instance, begin, devices)) return std::nullopt;
  const StageTime time{instance, begin, devices};
  const auto replicas = devices.front().size();
  double sum = 0, max = 0;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    double slowest = 0;
    for (std::size_t r = 0; r < replicas; ++r)
      slowest = std::max(slowest, time.compute_and_messages(k, r));
    slowest += time.reduction(k);
    sum += slowest;
    max = std::max(max, slowest);
  }
  if (instance.objective == partition::Objective::bottleneck) return max;
  const std::size_t runs = (instance.micro_batches + replicas - 1) / replicas;
  return sum + static_cast<double>(runs - 1) * max;
}

std::optional<double> try_all(const Instance& instance) {
  const int layers = static_cast<int>(instance.sequence.layers.size());
  const int devices = instance.cluster.size();
  std::optional<double> best;
  for (int stages = 1; stages <= std::min(layers, devices); ++stages) {
    if (instance.constraints.stages > 0 && stages != instance.constraints.stages) continue;
    for (int replicas = 1; replicas <= std::min(devices / stages, instance.micro_batches);
         ++replicas)
      for_placements(devices, {stages, replicas}, [&](const partition::Placement& placement) {
        for_cuts(layers, stages, [&](const std::vector<int>& begin) {
          const auto value = value_of(instance, begin, placement);
          if (value && (!best || *value < *best)) best = value;
        });
      });
  }
  return best;
}

}  // namespace penstock::test
