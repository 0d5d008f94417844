#include "partition/planner/placement/exact/stage_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/symmetry.h"

namespace penstock::partition {
namespace {

/// Identifies a state: devices of earlier stages, sorted; of the last stage, sorted; and of the
/// next stage, in the order of the last stage's replicas.
using Key = std::u32string;

/// Builds the graph layer by layer, from the first stage on.
class Builder {
 public:
  Builder(const PlacementProblem& problem, const Grid& grid, const GraphLimits& limits)
      : problem_(problem),
        limits_(limits),
        stages_(grid.stages),
        replicas_(grid.replicas),
        symmetry_(problem.cluster),
        rates_(problem, grid),
        used_(problem.cluster.size(), false),
        by_speed_(problem.cluster.size()) {
    graph_.grid = grid;
    std::iota(by_speed_.begin(), by_speed_.end(), 0);
    std::ranges::stable_sort(by_speed_, std::greater<>(),
                             [&](int device) { return problem.cluster.devices[device].speed; });
  }

  std::optional<StageGraph> run() {
    graph_.first_state.push_back(0);
    for_stages(true, [&] { state_of({}, tuple_); });
    // fresh_ has the keys of all states with `placed` stages, in the graph's order. The edges of
    // each lead to the states with one more.
    for (int placed = 0; placed < stages_; ++placed) {
      graph_.first_state.push_back(static_cast<int>(graph_.memory.size()));
      const std::vector<Key> now = std::exchange(fresh_, {});
      places_.clear();
      for (const Key& key : now) {
        graph_.first_edge.push_back(static_cast<int>(graph_.target.size()));
        add_edges(placed, key);
        if (graph_.target.size() > limits_.edges || is_over(limits_.time)) return std::nullopt;
      }
    }
    const int edges = static_cast<int>(graph_.target.size());
    graph_.first_state.push_back(static_cast<int>(graph_.memory.size()));
    graph_.first_edge.resize(graph_.memory.size() + 1, edges);
    graph_.rates = rates_.rates();
    return std::move(graph_);
  }

 private:
  /// Calls visit() for each tuple_ of free devices for a stage. If `sorted`, each set of devices is
  /// tried in one order only.
  template <class Visit>
  void for_stages(bool sorted, Visit visit) {
    if (static_cast<int>(tuple_.size()) == replicas_) return visit();
    for (const int device : symmetry_.distinct(used_)) {
      if (sorted && !tuple_.empty() && device < tuple_.back()) continue;
      used_[device] = true;
      tuple_.push_back(device);
      for_stages(sorted, visit);
      tuple_.pop_back();
      used_[device] = false;
    }
  }

  /// Adds the edges of a state with `placed` placed stages.
  void add_edges(int placed, const Key& key) {
    const std::size_t known = key.size() - replicas_;
    for (const char32_t device : key) used_[device] = true;
    own_.assign(key.begin() + known, key.end());
    before_.assign(replicas_, -1);
    if (placed > 0) before_.assign(key.begin() + known - replicas_, key.begin() + known);
    const int reduction = rates_.reduction(own_);
    if (placed + 1 == stages_) {
      add_edge(reduction, std::vector<int>(replicas_, -1), last_state());
    } else {
      Key earlier = key.substr(0, known);
      std::ranges::sort(earlier);
      for_stages(false, [&] {
        const int target = after(earlier);
        if (target >= 0) add_edge(reduction, tuple_, target);
      });
    }
    for (const char32_t device : key) used_[device] = false;
  }

  void add_edge(int reduction, const std::vector<int>& after, int target) {
    graph_.target.push_back(target);
    for (int r = 0; r < replicas_; ++r)
      graph_.edge_rates.push_back(rates_.rate(reduction, before_[r], own_[r], after[r]));
  }

  /// Returns the state in which own_ is the last stage and tuple_ the next; −1 if it is left out.
  int after(const Key& earlier) {
    std::vector<std::pair<int, int>> pipelines;
    for (int r = 0; r < replicas_; ++r) pipelines.emplace_back(own_[r], tuple_[r]);
    std::ranges::sort(pipelines);
    Key key = earlier;
    std::vector<int> next;
    for (const auto& [last, device] : pipelines) {
      key.push_back(last);
      next.push_back(device);
    }
    return state_of(std::move(key), next);
  }

  int last_state() { return place({}, std::vector<int>(replicas_, -1), 0); }

  /// Returns the state of a key, made if needed; −1 if the devices in use and the best free ones
  /// can't do the work within the limit.
  int state_of(Key key, const std::vector<int>& next) {
    key.append(next.begin(), next.end());
    if (const auto found = places_.find(key); found != places_.end()) return found->second;
    const auto [before, from] = speeds(static_cast<int>(key.size()) / replicas_, next);
    if (problem_.sequence.work(0, problem_.sequence.size()) >
        limits_.slowest * (before.together + from.together) * kRounding)
      return places_[std::move(key)] = -1;
    double memory = problem_.cluster.usable(next.front());
    for (const int device : next) memory = std::min(memory, problem_.cluster.usable(device));
    auto& memories = graph_.memories;
    const auto known = std::ranges::find(memories, memory);
    const int memory_place = static_cast<int>(known - memories.begin());
    if (known == memories.end()) memories.push_back(memory);
    const int state = place(std::move(key), next, memory_place);
    graph_.before[state] = before;
    graph_.from[state] = from;
    return state;
  }

  int place(Key key, const std::vector<int>& next, int memory) {
    const auto [known, fresh] = places_.try_emplace(key, static_cast<int>(graph_.memory.size()));
    if (!fresh) return known->second;
    graph_.devices.insert(graph_.devices.end(), next.begin(), next.end());
    graph_.memory.push_back(memory);
    graph_.before.emplace_back();
    graph_.from.emplace_back();
    if (!key.empty()) fresh_.push_back(std::move(key));
    return known->second;
  }

  /// Returns upper bounds on the speeds of the stages before the next one, and of it and those
  /// after. Devices are grouped by R in falling order of speed, and the slowest of each group
  /// counts.
  std::pair<StageGraph::Speeds, StageGraph::Speeds> speeds(int stages,
                                                           const std::vector<int>& next) const {
    const auto speed = [&](int device) { return problem_.cluster.devices[device].speed; };
    StageGraph::Speeds before, from;
    int in_use = 0, left = 0;
    const int max_left = (stages_ - stages) * replicas_;
    for (const int device : by_speed_) {
      if (std::ranges::count(next, device) > 0) continue;
      if (used_[device] && ++in_use % replicas_ == 0) before.add(speed(device));
      if (!used_[device] && ++left % replicas_ == 0 && left <= max_left) from.add(speed(device));
    }
    from.add(speed(std::ranges::min(next, {}, speed)));
    return {before, from};
  }

  const PlacementProblem& problem_;
  GraphLimits limits_;
  int stages_, replicas_;
  Symmetry symmetry_;
  RateTable rates_;
  StageGraph graph_;
  std::vector<bool> used_;
  std::vector<int> by_speed_, before_, own_, tuple_;
  std::unordered_map<Key, int> places_;  // states of the layer under construction
  std::vector<Key> fresh_;               // keys of these states, in order
};

}  // namespace

Placement StageGraph::placement(const std::vector<int>& path) const {
  Placement placement;
  // [replica]: index of its device among its stage's sorted devices.
  std::vector<int> now(grid.replicas);
  std::iota(now.begin(), now.end(), 0);
  for (const int state : path) {
    const int* next = &devices[state * std::size_t(grid.replicas)];
    std::vector<int> stage;
    for (const int place : now) stage.push_back(next[place]);
    std::vector<int> sorted = stage;
    std::ranges::sort(sorted);
    for (int r = 0; r < grid.replicas; ++r)
      now[r] = static_cast<int>(std::ranges::find(sorted, stage[r]) - sorted.begin());
    placement.push_back(std::move(stage));
  }
  return placement;
}

std::optional<StageGraph> stage_graph(const PlacementProblem& problem, const Grid& grid,
                                      const GraphLimits& limits) {
  return Builder(problem, grid, limits).run();
}

}  // namespace penstock::partition
