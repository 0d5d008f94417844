#include "partition/planner/placement/bound/bound.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/bound/water_fill.h"

namespace penstock::partition {
namespace {

constexpr int kSweeps = 8;  // of best_cut(); then it bounds the cuts that it did not try

/// Returns the size of the largest group of devices that links of at least `width` join
/// (union-find).
int largest_group(const Cluster& cluster, double width) {
  std::vector<int> group(cluster.size());
  std::iota(group.begin(), group.end(), 0);
  const auto root = [&](int device) {
    while (group[device] != device) device = group[device] = group[group[device]];
    return device;
  };
  // Invariant: two devices have one root if such links among the pairs seen so far join them.
  for (int from = 0; from < cluster.size(); ++from)
    for (int to = 0; to < from; ++to)
      if (std::max(cluster.link(from, to).bandwidth, cluster.link(to, from).bandwidth) >= width)
        group[root(from)] = root(to);
  std::map<int, int> sizes;
  for (int device = 0; device < cluster.size(); ++device) ++sizes[root(device)];
  int largest = 0;
  for (const auto& [first, size] : sizes) largest = std::max(largest, size);
  return largest;
}

}  // namespace

Bounds::Bounds(const PlacementProblem& problem) : problem_(problem) {
  const Cluster& cluster = problem.cluster;
  for (int device = 0; device < cluster.size(); ++device) {
    speeds_.push_back(cluster.devices[device].speed);
    memories_.push_back(cluster.usable(device));
  }
  std::ranges::sort(speeds_, std::greater<>());
  std::ranges::sort(memories_, std::greater<>());
  link_.latency = cluster.size() > 1 ? cluster.link(0, 1).latency : 0;
  if (cluster.size() > 1) crossing_ = crossing(problem, 0, 1);
  std::set<double, std::greater<>> widths;
  for (int from = 0; from < cluster.size(); ++from)
    for (int to = 0; to < cluster.size(); ++to) {
      if (from == to) continue;
      const LinkRates& link = cluster.link(from, to);
      link_.latency = std::min(link_.latency, link.latency);
      crossing_ = best_of(crossing_, crossing(problem, from, to));
      widths.insert(link.bandwidth);
    }
  widths_.assign(widths.begin(), widths.end());
  if (!widths_.empty()) link_.bandwidth = widths_.front();
}

int Bounds::largest_group(std::size_t width) const {
  const auto known = largest_.find(width);
  if (known != largest_.end()) return known->second;
  return largest_[width] = partition::largest_group(problem_.cluster, widths_[width]);
}

/// Returns an upper bound on the slowest bandwidth of a ring over so many devices. Links of a ring
/// join its devices, so they are no wider than the widest links that join so many.
double Bounds::widest_ring(int replicas) const {
  const auto enough = [&](std::size_t width) { return largest_group(width) >= replicas; };
  std::size_t low = 0, high = widths_.size() - 1;
  // Invariant: enough(high) holds, since the narrowest links join all devices, and enough(k) fails
  // for all k < low.
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (enough(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return widths_[low];
}

std::vector<StageCost> Bounds::best_stages(const Grid& grid) const {
  StageCost best{.memory = memories_[grid.replicas - 1]};
  const LinkCost link = grid.stages > 1 ? crossing_ : LinkCost{};
  best.paces = {{.per_work = 1 / speed(grid, 0), .enter = link, .leave = link}};
  if (grid.replicas > 1)
    best.reduction = ring({.latency = link_.latency, .bandwidth = widest_ring(grid.replicas)},
                          grid.replicas, micro_batches_of(problem_, grid));
  std::vector<StageCost> stages(grid.stages, best);
  for (int k = 0; k < grid.stages; ++k) stages[k].in_flight = in_flight(problem_, grid, k);
  stages.front().paces.front().enter = {};
  stages.back().paces.front().leave = {};
  return stages;
}

/// Returns the value of the work spread over stages of the devices' speeds (water_fill).
double Bounds::spread(const Grid& grid) const {
  const Goal goal = goal_of(problem_, grid);
  std::vector<double> speeds;
  for (int k = 0; k < grid.stages; ++k) speeds.push_back(speed(grid, k));
  const WaterFill filled = water_fill(problem_.sequence.work(0, problem_.sequence.size()), speeds,
                                      problem_.sequence.longest_layer() / speeds.front(), goal);
  return goal.value(filled.sum, filled.largest);
}

/// A stage holds what its smallest device holds. So the stages hold no more than every R-th device
/// in falling order of memory.
bool Bounds::may_fit(const Grid& grid) const {
  double room = 0;
  for (int k = 0; k < grid.stages; ++k) room += memories_[(k + 1) * grid.replicas - 1];
  const SequenceLoad& sequence = problem_.sequence;
  return sequence.bytes_at_least(0, sequence.size(), 1) <= room * kRounding;
}

/// The sum counts all work on the fastest stage, all gradients at the best ring's pace, and the
/// smallest message at every boundary. The slowest load is at least the mean, and at least the
/// longest layer.
Bounds::Floor Bounds::floor(const Grid& grid) const {
  const SequenceLoad& sequence = problem_.sequence;
  const auto best = best_stages(grid);
  double sum = sequence.work(0, sequence.size()) / speed(grid, 0) +
               best.front().reduction.seconds(sequence.parameters(0, sequence.size()));
  if (grid.stages > 1)  // a message counts for both stages
    sum +=
        2 * (grid.stages - 1) * best.front().paces.front().leave.seconds(sequence.min_crossing());
  return {sum, std::max(sum / grid.stages, sequence.longest_layer() / speed(grid, 0))};
}

double Bounds::together(const Grid& grid) const {
  double sum = 0;
  for (int k = 0; k < grid.stages; ++k) sum += speed(grid, k);
  return sum;
}

double Bounds::quick(const Grid& grid) const {
  const Floor min = floor(grid);
  return std::max(goal_of(problem_, grid).value(min.sum, min.slowest), spread(grid));
}

std::optional<double> Bounds::of(const Grid& grid, double below) const {
  const auto cut = best_cut(problem_.sequence, best_stages(grid), goal_of(problem_, grid),
                            {.value = below, .sweeps = kSweeps});
  if (!cut) return std::nullopt;
  return std::max(cut->bound, spread(grid));
}

}  // namespace penstock::partition
