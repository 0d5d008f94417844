#include "partition/planner/cut/cut_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace penstock::partition {
namespace {

/// Small whole numbers, so that sums are exact and ties are frequent.
struct CostTable {
  CutShape shape = {};
  std::vector<int> work = {}, limit = {};  // of the layers, and of the segments
  std::vector<std::vector<int>> at = {};   // beside work: by a segment's first layer and its last
  bool ends = false;                       // whether a segment says where it ends

  double work_of(int first, int last) const {
    return std::accumulate(work.begin() + first, work.begin() + last, 0);
  }
  double cost(int k, int first, int last) const {
    const double cost = work_of(first, last) + at[first][last - 1];
    return cost > limit[k] ? kInfeasible : cost;
  }
};

CostTable sampled(std::mt19937& random) {
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  CostTable table{.shape = {.layers = number(1, 9), .segments = number(1, 5)}};
  table.shape.ties = number(0, 1) == 0 ? CutTies::earliest : CutTies::latest;
  table.ends = number(0, 1) == 0;
  const int max = number(1, 9);
  for (int i = 0; i < table.shape.layers; ++i) {
    table.work.push_back(number(0, 3) * number(0, max));
    table.at.emplace_back();
    for (int last = 0; last < table.shape.layers; ++last) table.at[i].push_back(number(0, 2));
  }
  for (int k = 0; k < table.shape.segments; ++k) table.limit.push_back(number(5, 40));
  return table;
}

struct TableSegment : SegmentCost {
  const CostTable& table;
  int k;

  bool ends(int first, int last) const {
    return table.ends && table.work_of(first, last) > table.limit[k];
  }
  double at_least(int first, int last) const { return table.work_of(first, last); }
  double cost(int first, int last, double at_least) const {
    EXPECT_EQ(at_least, table.work_of(first, last));
    return table.cost(k, first, last);
  }
};

/// An objective with values of several numbers: costs, largest first.
struct Sorted {
  using Value = std::vector<double>;
  static Value empty() { return {}; }
  static Value never() { return {kInfeasible}; }
  static Value add(Value costs, double cost) {
    costs.push_back(cost);
    std::ranges::sort(costs, std::greater<>());
    return costs;
  }
};

/// Returns the value of these costs, computed without add().
double worth(MinSum, const std::vector<double>& costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0);
}
double worth(MinLargest, const std::vector<double>& costs) { return std::ranges::max(costs); }
std::vector<double> worth(Sorted, std::vector<double> costs) {
  std::ranges::sort(costs, std::greater<>());
  return costs;
}

void each_cut(const CutShape& shape, std::vector<int> begin,
              const std::function<void(const std::vector<int>&)>& visit) {
  const int segments = static_cast<int>(begin.size()) - 1;
  if (segments == shape.segments && begin.back() == shape.layers) visit(begin);
  if (segments == shape.segments) return;
  for (int last = begin.back() + 1; last <= shape.layers; ++last) {
    begin.push_back(last);
    each_cut(shape, begin, visit);
    begin.pop_back();
  }
}

/// Returns the key by which cuts are ordered, from the last segment to the first: the value so far,
/// and where the segment begins. Empty if a segment is infeasible.
template <class Objective>
std::vector<std::pair<typename Objective::Value, int>> key_of(const CostTable& table,
                                                              const std::vector<int>& begin) {
  std::vector<std::pair<typename Objective::Value, int>> key;
  std::vector<double> costs;
  for (int k = 0; k < table.shape.segments; ++k) {
    costs.push_back(table.cost(k, begin[k], begin[k + 1]));
    if (costs.back() == kInfeasible) return {};
    const int preferred = table.shape.ties == CutTies::earliest ? begin[k] : -begin[k];
    key.insert(key.begin(), {worth(Objective(), costs), preferred});
  }
  return key;
}

/// Compares value and cut with those found by trying all cuts; whether there is one, and whether
/// another is as good.
template <class Objective>
std::pair<bool, bool> compare(const CostTable& table) {
  std::vector<std::pair<typename Objective::Value, int>> min;
  std::vector<int> begin;
  bool tied = false;
  each_cut(table.shape, {0}, [&](const std::vector<int>& cut) {
    const auto key = key_of<Objective>(table, cut);
    if (key.empty()) return;
    const bool as_good = !min.empty() && key.front().first == min.front().first;
    if (min.empty() || key < min) {
      min = key;
      begin = cut;
      tied = tied && as_good;
    }
    tied = tied || as_good;
  });
  const CutSolver<Objective> solver(table.shape);
  const auto costs = [&](int k) { return TableSegment{{}, table, k}; };
  const auto value = solver.value(costs);
  const auto found = solver.begin(costs);
  EXPECT_EQ(value.has_value(), !begin.empty());
  EXPECT_EQ(found.has_value(), !begin.empty());
  if (value) {
    EXPECT_EQ(*value, min.front().first);
  }
  if (found) {
    EXPECT_EQ(begin, *found);
  }
  return {!begin.empty(), tied};
}

template <class Objective>
void expect_as_trying_all() {
  std::mt19937 random(17);
  int feasible = 0, ties = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto [found, tied] = compare<Objective>(sampled(random));
    feasible += found;
    ties += tied;
  }
  EXPECT_GT(feasible, 400);
  EXPECT_LT(feasible, 1100);
  EXPECT_GT(ties, 50);
}

TEST(CutSolver, LeastSumAsTryingAllCuts) { expect_as_trying_all<MinSum>(); }

TEST(CutSolver, LeastLargestAsTryingAllCuts) { expect_as_trying_all<MinLargest>(); }

TEST(CutSolver, SortedCostsAsTryingAllCuts) { expect_as_trying_all<Sorted>(); }

struct OfEqualCost : SegmentCost {
  static double at_least(int, int) { return 1; }
};

TEST(CutSolver, TiesGoToEarliestOrLatestBegin) {
  const auto costs = [](int) { return OfEqualCost{}; };
  const auto begin = [&](CutTies ties) {
    return *CutSolver<MinSum>({.layers = 6, .segments = 3, .ties = ties}).begin(costs);
  };
  EXPECT_EQ(begin(CutTies::earliest), (std::vector<int>{0, 1, 2, 6}));
  EXPECT_EQ(begin(CutTies::latest), (std::vector<int>{0, 4, 5, 6}));
}

TEST(CutSolver, NoCutHasAnEmptySegment) {
  const auto costs = [](int) { return OfEqualCost{}; };
  EXPECT_FALSE(CutSolver<MinSum>({.layers = 2, .segments = 3}).value(costs));
  EXPECT_FALSE(CutSolver<MinSum>({.layers = 2, .segments = 3}).begin(costs));
}

struct CountedCost : SegmentCost {
  int& asked;
  static double at_least(int first, int last) { return 10 * first + last; }
  double cost(int, int, double at_least) const {
    ++asked;
    return at_least;
  }
};

TEST(CutSolver, AsksOnlyForCostsThatMayWin) {
  int asked = 0;
  const CutSolver<MinSum> solver({.layers = 9, .segments = 2});
  EXPECT_EQ(solver.value([&](int) { return CountedCost{{}, asked}; }), 20);
  EXPECT_EQ(asked, 8 + 1);  // of first segments, and of the best last one, which is tried first
}

}  // namespace
}  // namespace penstock::partition
