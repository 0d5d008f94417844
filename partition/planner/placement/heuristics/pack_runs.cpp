#include "partition/planner/placement/heuristics/pack_runs.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <random>

#include "partition/planner/placement/heuristics/device_classes.h"
#include "partition/planner/placement/heuristics/least_limit.h"
#include "partition/planner/placement/heuristics/run_count.h"

namespace penstock::partition {
namespace {

constexpr double kMaxEffort = 1e8;  // of RunCount, per limit
constexpr int kSampled = 300'000;   // layers of all sampled pipelines, per limit
constexpr int kCuts = 4;            // tried per limit: real links may be slower than RunCount's

/// [class of devices][node]: free devices.
using FreeNodes = std::vector<std::vector<std::deque<int>>>;

FreeNodes nodes_of(const Cluster& cluster, const std::vector<DeviceClass>& classes) {
  FreeNodes free;
  for (const DeviceClass& device_class : classes) {
    std::vector<std::deque<int>> nodes(cluster.nodes.size());
    for (const int device : device_class.devices)
      nodes[cluster.devices[device].node].push_back(device);
    std::erase_if(nodes, [](const auto& node) { return node.empty(); });
    free.push_back(std::move(nodes));
  }
  return free;
}

/// Returns a placement of the runs; empty if best-fit decreasing can't pack them into nodes.
Placement pack(const std::vector<StageRun>& runs, FreeNodes free) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  // Long runs come first, because short ones still fit into the rests of nodes.
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return runs[i].stages; });
  std::vector<std::vector<int>> devices(runs.size());
  for (const std::size_t i : order) {
    const std::size_t stages = runs[i].stages;
    std::deque<int>* tightest = nullptr;
    for (auto& node : free[runs[i].kind])
      if (node.size() >= stages && (!tightest || node.size() < tightest->size())) tightest = &node;
    if (!tightest) return {};
    devices[i].assign(tightest->begin(), tightest->begin() + stages);
    tightest->erase(tightest->begin(), tightest->begin() + stages);
  }
  Placement placement;
  for (const auto& run : devices)
    for (const int device : run) placement.push_back({device});
  return placement;
}

}  // namespace

std::optional<PlacedCut> pack_runs(const PlacementProblem& problem, double below,
                                   std::uint64_t seed, const TimeLimit* time) {
  const std::vector<DeviceClass> classes = device_classes(problem);
  RunCount count(problem.sequence, run_request(problem, classes));
  const FreeNodes nodes = nodes_of(problem.cluster, classes);
  const int samples =
      1 + kSampled / (problem.sequence.size() + static_cast<int>(problem.cluster.nodes.size()));
  std::mt19937_64 numbers(seed);
  std::optional<PlacedCut> best;
  // RunCount knows neither how full nodes are nor which links are slow. So a pipeline that it says
  // is possible may not fit into nodes, or exceed the limit once it does; others are tried then.
  const auto finds = [&](double limit) -> std::optional<double> {
    if (is_over(time) || count.effort(limit) > kMaxEffort || !count.possible(limit))
      return std::nullopt;
    int cuts = 0;
    for (int i = 0; i < samples && cuts < kCuts && !is_over(time); ++i) {
      Placement placement = pack(count.sample(numbers), nodes);
      if (placement.empty()) continue;
      ++cuts;
      auto placed = cut_within(problem, std::move(placement), limit);
      if (!placed) continue;
      best = std::move(placed);
      return std::min(limit, best->cut.value);
    }
    return std::nullopt;
  };
  min_limit({.min = min_bottleneck(problem, 1), .below = below}, finds);
  return best;
}

}  // namespace penstock::partition
