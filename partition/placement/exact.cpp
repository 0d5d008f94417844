#include "partition/placement/exact.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "partition/placement/pour.h"
#include "partition/placement/symmetry.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWorthwhile = 1 - 1e-12;

/// For each layer, the least sum and the least slowest load of stages up to it, or from it on.
struct Frontier {
  explicit Frontier(int layers) : sum(layers + 1, kNever), slowest(layers + 1, kNever) {}
  std::vector<double> sum, slowest;
};

class BranchAndBound {
 public:
  BranchAndBound(const PlacementProblem& problem, const Bounds& bounds, const Grid& grid,
                 const ExactEffort& effort)
      : problem_(problem),
        grid_(grid),
        goal_(goal_of(problem, grid)),
        symmetry_(problem.cluster),
        best_stages_(bounds.best_stages(grid)),
        known_(effort.known),
        tries_left_(effort.tries),
        placement_(grid.stages),
        used_(problem.cluster.size(), false) {
    for (int device = 0; device < problem.cluster.size(); ++device) by_speed_.push_back(device);
    std::ranges::stable_sort(by_speed_, std::greater<>(),
                             [&](int device) { return problem.cluster.devices[device].speed; });
    best_rest();
    reach_.assign(grid.stages, Frontier(layers()));
    reach_[0].sum[0] = reach_[0].slowest[0] = 0;
  }

  ExactResult run() {
    fill(0);
    return {std::move(best_), tries_left_};
  }

 private:
  int layers() const { return problem_.chain.size(); }

  /// What stages at their best make of layers from each one on.
  void best_rest() {
    rest_.assign(grid_.stages + 1, Frontier(layers()));
    rest_.back().sum.back() = rest_.back().slowest.back() = 0;
    for (int k = grid_.stages - 1; k > 0; --k)
      for (int first = k; first < layers(); ++first)
        for (int last = first + 1; last <= layers(); ++last) {
          const double load = best_stages_[k].load(problem_.chain, first, last);
          auto& rest = rest_[k];
          rest.sum[first] = std::min(rest.sum[first], load + rest_[k + 1].sum[last]);
          rest.slowest[first] =
              std::min(rest.slowest[first], std::max(load, rest_[k + 1].slowest[last]));
        }
  }

  /// Gives a device to `slot`, and to all behind it.
  void fill(int slot) {
    const int stage = slot / grid_.replicas;
    for (const int device : symmetry_.distinct(used_)) {
      if (stage == 0 && slot > 0 && device < placement_[0].back()) continue;
      if (tries_left_ <= 0) return;
      placement_[stage].push_back(device);
      used_[device] = true;
      if (static_cast<int>(placement_[stage].size()) < grid_.replicas)
        fill(slot + 1);
      else
        finish_stage(stage, slot);
      used_[device] = false;
      placement_[stage].pop_back();
    }
  }

  void finish_stage(int stage, int slot) {
    if (stage > 0) extend(stage - 1);
    if (stage + 1 == grid_.stages)
      cut();
    else if (bound(stage) < known_ * kWorthwhile)
      fill(slot + 1);
  }

  /// No stage of a better solution takes longer.
  double limit() const {
    if (goal_.slowest == 0 || known_ == kNever) return kNever;
    return (known_ - goal_.sum * rest_floor()) / goal_.slowest;
  }
  double rest_floor() const {
    return problem_.chain.work(0, layers()) / problem_.cluster.devices[by_speed_.front()].speed *
           kWorthwhile;
  }

  /// Calls try_range(first, last, load) for what `cost` can be as a stage that begins where
  /// reach_[stage] can.
  template <class TryRange>
  void for_ranges(int stage, const StageCost& cost, TryRange try_range) {
    const double most = limit(), work = most * cost.speed();
    const int behind = grid_.stages - stage - 1;
    for (int first = stage; first < layers() - behind; ++first) {
      if (reach_[stage].slowest[first] == kNever) continue;
      for (int last = first + 1; last <= layers() - behind; ++last) {
        if (problem_.chain.work(first, last) > work) break;
        --tries_left_;
        if (!cost.fits(problem_.chain, first, last)) continue;
        const double load = cost.load(problem_.chain, first, last);
        if (load <= most) try_range(first, last, load);
      }
    }
  }

  /// Sets reach_ of the stage behind `stage`, whose devices and neighbours are known.
  void extend(int stage) {
    Frontier& next = reach_[stage + 1];
    next = Frontier(layers());
    const std::vector<int> nobody;
    const StageCost cost =
        stage_cost(problem_, grid_, stage, stage > 0 ? placement_[stage - 1] : nobody,
                   placement_[stage], placement_[stage + 1]);
    const Frontier& now = reach_[stage];
    for_ranges(stage, cost, [&](int first, int last, double load) {
      next.sum[last] = std::min(next.sum[last], now.sum[first] + load);
      next.slowest[last] = std::min(next.slowest[last], std::max(now.slowest[first], load));
    });
  }

  /// Speeds of the stages behind `stage`, fastest first, at most: of every R devices left the
  /// slowest counts.
  std::vector<double> speeds_behind(int stage) const {
    std::vector<double> speeds;
    int taken = 0;
    for (const int device : by_speed_) {
      if (static_cast<int>(speeds.size()) == grid_.stages - stage - 1) break;
      if (!used_[device] && ++taken % grid_.replicas == 0)
        speeds.push_back(problem_.cluster.devices[device].speed);
    }
    return speeds;
  }

  /// Value of a placement that beginning as up to `stage` none is below.
  double bound(int stage) {
    const std::vector<double> speeds = speeds_behind(stage);
    const std::vector<int> nobody;
    StageCost cost = stage_cost(problem_, grid_, stage, stage > 0 ? placement_[stage - 1] : nobody,
                                placement_[stage], nobody);
    for (Pace& pace : cost.paces) pace.leave = best_stages_[stage].paces.front().leave;
    const Frontier &now = reach_[stage], &rest = rest_[stage + 1];
    double least = kNever;
    for_ranges(stage, cost, [&](int first, int last, double load) {
      const double sum = now.sum[first] + load;
      const double slowest = std::max({now.slowest[first], load, rest.slowest[last]});
      if (goal_.value(sum + rest.sum[last], slowest) >= least) return;
      const Poured poured = pour(problem_.chain.work(last, layers()), speeds, slowest, goal_);
      least = std::min(least, goal_.value(sum + std::max(rest.sum[last], poured.sum),
                                          std::max(slowest, poured.largest)));
    });
    return least;
  }

  void cut() {
    const auto found =
        best_cut(problem_.chain, stage_costs(problem_, placement_), goal_, {.value = known_});
    if (!found || found->value >= known_) return;
    known_ = found->value;
    best_ = PlacedCut{placement_, *found};
  }

  const PlacementProblem& problem_;
  Grid grid_;
  Goal goal_;
  Symmetry symmetry_;
  std::vector<StageCost> best_stages_;
  double known_, tries_left_;
  Placement placement_;
  std::vector<bool> used_;
  std::vector<int> by_speed_;
  std::vector<Frontier> reach_;  // [stage]: of the stages in front of it
  std::vector<Frontier> rest_;   // [stage]: of it and those behind
  std::optional<PlacedCut> best_;
};

}  // namespace

ExactResult place_exactly(const PlacementProblem& problem, const Bounds& bounds, const Grid& grid,
                          const ExactEffort& effort) {
  return BranchAndBound(problem, bounds, grid, effort).run();
}

}  // namespace penstock
