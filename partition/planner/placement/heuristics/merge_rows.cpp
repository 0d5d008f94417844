#include "partition/planner/placement/heuristics/merge_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "partition/planner/placement/fastest.h"
#include "partition/planner/placement/heuristics/least_limit.h"
#include "partition/planner/placement/heuristics/row_orders.h"

namespace penstock::partition {
namespace {

constexpr int kNone = -1;

/// Devices that form a stage, with its costs.
struct Team {
  std::vector<int> devices;
  double per_work = 1, memory = 0;
  LinkCost reduction = {};
};

/// Teams in the order in which stages take them.
struct Row {
  std::vector<Team> teams;
  std::vector<int> next_node;  // [index]: first team from there on that begins a node
};

/// Names a team.
struct TeamPlace {
  int row = 0, index = 0;
};

/// The team of the previous stage, seen from this stage.
enum Step { same_row, other_row, next_node_of_same, next_node_of_other, kSteps };

/// The dynamic programme for one order of the rows.
class Merge {
 public:
  Merge(const PlacementProblem& problem, int replicas, const RowOrder& order)
      : problem_(problem),
        sequence_(problem.sequence),
        replicas_(replicas),
        runs_(micro_batches_of(problem, {1, replicas})) {
    std::vector<bool> members = fastest(problem.cluster);
    for (Row& row : rows_) {
      row = row_of(devices_in(order, problem.cluster, members, replicas));
      members.flip();
    }
    if (rows_[0].teams.size() > rows_[1].teams.size()) std::swap(rows_[0], rows_[1]);
  }

  /// Returns true if it finds a pipeline with no load above the limit.
  bool finds(double limit);

  /// Returns the pipeline that finds() found last.
  Placement placement() const;

 private:
  using Used = std::array<int, 2>;  // teams of each row
  /// The best pipeline of the last layers for a state.
  struct Way {
    int used = kNone;   // teams of the longer row
    int after = kNone;  // state of the next stage, if there is one
  };

  Row row_of(const std::vector<int>& devices) const;
  /// Index of a state: the stage begins at layer `first`, `used` counts include its team, and
  /// `step` says which team comes before it.
  std::size_t state(int first, const Used& used, const TeamPlace& at, int step) const {
    return ((static_cast<std::size_t>(first) * (rows_[0].teams.size() + 1) + used[0]) * 2 +
            at.row) *
               kSteps +
           step;
  }
  const Team& team(const TeamPlace& at) const { return rows_[at.row].teams[at.index]; }
  std::optional<TeamPlace> in_front(int row, const Used& used, int step) const;
  LinkCost link(const Team& from, const Team& to) const;
  void put(const TeamPlace& at, Used used, int last, const Team* after, int state_after);
  void offer(std::size_t state, const Used& used, int after) {
    Way& way = ways_[state];
    if (way.used == kNone || used[1] < way.used) way = {used[1], after};
  }

  const PlacementProblem& problem_;
  const SequenceLoad& sequence_;
  int replicas_, runs_;
  std::array<Row, 2> rows_;  // the shorter first
  double limit_ = 0;
  std::vector<Way> ways_;  // [state]
};

Row Merge::row_of(const std::vector<int>& devices) const {
  const Cluster& cluster = problem_.cluster;
  Row row;
  for (std::size_t i = 0; i + replicas_ <= devices.size(); i += replicas_) {
    const auto first = devices.begin() + static_cast<std::ptrdiff_t>(i);
    const std::vector<int> members(first, first + replicas_);
    const StageCost cost = stage_cost(problem_, {1, replicas_}, 0, {}, members, {});
    row.teams.push_back({members, 1 / cost.speed(), cost.memory, cost.reduction});
  }
  const auto node = [&](std::size_t i) {
    return cluster.devices[row.teams[i].devices.front()].node;
  };
  row.next_node.assign(row.teams.size() + 1, static_cast<int>(row.teams.size()));
  for (std::size_t i = row.teams.size(); i-- > 0;)
    row.next_node[i] =
        i == 0 || node(i) != node(i - 1) ? static_cast<int>(i) : row.next_node[i + 1];
  return row;
}

/// Returns the team of the previous stage; nothing if the row has none left, or no rest to skip.
std::optional<TeamPlace> Merge::in_front(int row, const Used& used, int step) const {
  const int taken = step == same_row || step == next_node_of_same ? row : 1 - row;
  const int next = used[taken], node = rows_[taken].next_node[next];
  const bool leaves_rest = step == next_node_of_same || step == next_node_of_other;
  if (leaves_rest && node == next) return std::nullopt;  // no rest to skip
  const TeamPlace place{taken, leaves_rest ? node : next};
  if (place.index >= std::ssize(rows_[taken].teams)) return std::nullopt;
  return place;
}

/// Returns the cost of the slowest link between the replicas of two stages.
LinkCost Merge::link(const Team& from, const Team& to) const {
  LinkCost worst;
  for (int r = 0; r < replicas_; ++r) {
    const LinkCost own = crossing(problem_, from.devices[r], to.devices[r]);
    worst = {std::max(worst.latency, own.latency), std::max(worst.per_unit, own.per_unit)};
  }
  return worst;
}

/// Adds a stage that ends before layer `last`, with each first layer that the limit allows.
void Merge::put(const TeamPlace& at, Used used, int last, const Team* after, int state_after) {
  const Team& own = team(at);
  used[at.row] = at.index + 1;
  const double leave = after ? link(own, *after).seconds(sequence_.crossing(last)) : 0;
  std::array<std::optional<LinkCost>, kSteps> enter;
  for (int step = 0; step < kSteps; ++step)
    if (const auto front = in_front(at.row, used, step)) enter[step] = link(team(*front), own);
  const int flying = std::min(runs_, used[0] + used[1]);  // skipped teams count too
  for (int first = last - 1; first >= 0; --first) {
    const double load = own.per_work * sequence_.work(first, last) + leave +
                        own.reduction.seconds(sequence_.parameters(first, last));
    if (load > limit_) return;
    if (sequence_.parameters(first, last) * SequenceLoad::kStates > own.memory) return;
    if (sequence_.bytes(first, last, flying) > own.memory) continue;
    if (first == 0) offer(state(0, used, at, same_row), used, state_after);
    for (int step = 0; first > 0 && step < kSteps; ++step)
      if (enter[step] && load + enter[step]->seconds(sequence_.crossing(first)) <= limit_)
        offer(state(first, used, at, step), used, state_after);
  }
}

/// ways_(first, used, row, step) has the fewest teams of the longer row that can do the layers from
/// `first` on. Given are the teams used of the shorter row, the row of the stage that begins there,
/// and the team before it. Keeping only the fewest is a heuristic: later teams of the longer row
/// may be faster.
bool Merge::finds(double limit) {
  limit_ = limit;
  ways_.assign(state(sequence_.size(), {}, {}, 0), {});
  for (int row = 0; row < 2; ++row)
    if (!rows_[row].teams.empty()) put({row, 0}, {}, sequence_.size(), nullptr, kNone);
  const int max = static_cast<int>(rows_[0].teams.size());
  // A stage that ends before `last` begins at an earlier layer, so the states of `last` are final.
  for (int last = sequence_.size() - 1; last > 0; --last)
    for (Used used{}; used[0] <= max; ++used[0])
      for (int row = 0; row < 2; ++row)
        for (int step = 0; step < kSteps; ++step) {
          const std::size_t after = state(last, used, {row, 0}, step);
          if (ways_[after].used == kNone) continue;
          used[1] = ways_[after].used;
          put(*in_front(row, used, step), used, last, &team({row, used[row] - 1}),
              static_cast<int>(after));
        }
  return std::any_of(ways_.begin(), ways_.begin() + state(1, {}, {}, 0),
                     [](const Way& way) { return way.used != kNone; });
}

Placement Merge::placement() const {
  std::size_t state = 0;
  while (ways_[state].used == kNone) ++state;
  Placement placement;
  for (;;) {
    const Way& way = ways_[state];
    const int row = static_cast<int>(state / kSteps % 2);
    const int shorter = static_cast<int>(state / kSteps / 2 % (rows_[0].teams.size() + 1));
    placement.push_back(team({row, (row == 0 ? shorter : way.used) - 1}).devices);
    if (way.after == kNone) return placement;
    state = way.after;
  }
}

}  // namespace

double merging_effort(const PlacementProblem& problem, int replicas) {
  const double devices = problem.cluster.size();
  const double fast = static_cast<double>(std::ranges::count(fastest(problem.cluster), true));
  double max = 0;
  for (const Device& device : problem.cluster.devices) max = std::max(max, device.speed);
  const double work = 2 * min_bottleneck(problem, replicas) * max;
  return problem.sequence.ranges_within(work) * (1 + std::min(fast, devices - fast) / replicas) *
         static_cast<double>(row_orders(problem.cluster, replicas).size());
}

std::optional<PlacedCut> merge_rows(const PlacementProblem& problem, int replicas, double below,
                                    const TimeLimit* time) {
  std::optional<PlacedCut> best;
  for (const RowOrder& order : row_orders(problem.cluster, replicas)) {
    Merge merge(problem, replicas, order);
    const auto finds = [&](double limit) -> std::optional<double> {
      if (is_over(time) || !merge.finds(limit)) return std::nullopt;
      auto placed = cut_within(problem, merge.placement(), limit);
      if (!placed) return std::nullopt;
      if (!best || placed->cut.value < best->cut.value) best = std::move(placed);
      return std::min(limit, best->cut.value);
    };
    min_limit({.min = min_bottleneck(problem, replicas),
               .below = best ? std::min(below, best->cut.value) : below},
              finds);
  }
  return best;
}

}  // namespace penstock::partition
