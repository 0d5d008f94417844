#include "partition/planner/placement/ranking.h"

#include <algorithm>
#include <map>

#include "partition/planner/placement/symmetry.h"

namespace penstock::partition {
namespace {

constexpr int kSeeds = 4;  // of local searches

/// Enumerates placements slot by slot, until there are more than `max`. Devices that may be
/// exchanged are tried once; replicas are sorted by their devices in the first stage.
class Enumeration {
 public:
  Enumeration(const PlacementProblem& problem, const Grid& grid, std::size_t max)
      : symmetry_(problem.cluster), grid_(grid), max_(max), used_(problem.cluster.size(), false) {
    placement_.resize(grid.stages);
    extend();
  }

  /// True if all placements were found: no more than `max`.
  bool complete() const { return found_.size() <= max_; }
  std::vector<Placement> take() { return std::move(found_); }

 private:
  void extend() {
    if (!complete()) return;
    const int slot = taken_++;
    if (slot == grid_.slots()) {
      found_.push_back(placement_);
    } else {
      std::vector<int>& stage = placement_[slot / grid_.replicas];
      for (const int device : symmetry_.distinct(used_)) {
        if (slot < grid_.replicas && !stage.empty() && device < stage.back()) continue;
        used_[device] = true;
        stage.push_back(device);
        extend();
        stage.pop_back();
        used_[device] = false;
      }
    }
    --taken_;
  }

  Symmetry symmetry_;
  Grid grid_;
  std::size_t max_;
  std::vector<bool> used_;
  int taken_ = 0;
  Placement placement_;
  std::vector<Placement> found_;
};

/// A set of placements up to symmetry.
class Distinct {
 public:
  explicit Distinct(const Cluster& cluster) : symmetry_(cluster) {}

  void add(Placement placement) {
    Placement key = symmetry_.canonical(placement);
    found_.try_emplace(std::move(key), std::move(placement));
  }
  std::vector<Placement> take() {
    std::vector<Placement> placements;
    for (auto& [key, placement] : found_) placements.push_back(std::move(placement));
    return placements;
  }

 private:
  Symmetry symmetry_;
  std::map<Placement, Placement> found_;  // keyed by canonical form
};

/// Returns all placements that differ by an exchange of two slots' devices, or of one for a free
/// device.
std::vector<Placement> neighbours(const Placement& placement, int devices) {
  std::vector<std::pair<std::size_t, std::size_t>> slots;
  std::vector<bool> used(devices, false);
  for (std::size_t k = 0; k < placement.size(); ++k) {
    for (std::size_t r = 0; r < placement[k].size(); ++r) {
      slots.emplace_back(k, r);
      used[placement[k][r]] = true;
    }
  }
  std::vector<Placement> result;
  for (std::size_t a = 0; a < slots.size(); ++a) {
    const auto [k, r] = slots[a];
    for (std::size_t b = a + 1; b < slots.size(); ++b) {
      result.push_back(placement);
      std::swap(result.back()[k][r], result.back()[slots[b].first][slots[b].second]);
    }
    for (int device = 0; device < devices; ++device) {
      if (used[device]) continue;
      result.push_back(placement);
      result.back()[k][r] = device;
    }
  }
  return result;
}

/// Adds the results of local searches, and all neighbours of the best.
void add_around_the_best(const PlacementProblem& problem, const Grid& grid, SearchEffort effort,
                         Distinct& found) {
  std::optional<PlacedCut> best;
  for (int i = 0; i < kSeeds && !(best && is_over(effort.time)); ++i, ++effort.seed) {
    auto placed = search_placement(problem, grid, effort, 0);
    if (!placed) continue;
    found.add(placed->devices);
    if (!best || placed->cut.value < best->cut.value) best = std::move(placed);
  }
  if (best)
    for (Placement& near : neighbours(best->devices, problem.cluster.size()))
      if (!is_over(effort.time)) found.add(std::move(near));
}

}  // namespace

std::vector<PlacedCut> rank_placements(const PlacementProblem& problem, const Grid& grid,
                                       const RankingOptions& options) {
  Enumeration all(problem, grid, options.all);
  Distinct distinct(problem.cluster);
  if (all.complete())
    for (Placement& placement : all.take()) distinct.add(std::move(placement));
  else
    add_around_the_best(problem, grid, options.effort, distinct);
  std::vector<PlacedCut> ranked;
  for (Placement& placement : distinct.take()) {
    if (!ranked.empty() && is_over(options.effort.time)) break;
    const auto cut =
        best_cut(problem.sequence, stage_costs(problem, placement), goal_of(problem, grid));
    if (cut) ranked.push_back({std::move(placement), *cut});
  }
  std::ranges::stable_sort(ranked, {}, [](const PlacedCut& p) { return p.cut.value; });
  if (ranked.size() > options.count) ranked.resize(options.count);
  return ranked;
}

}  // namespace penstock::partition
