#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "partition/planner/search/find_schedule.h"
#include "partition/planner/search/lower_bound.h"
#include "tests/support/partition/random_steps.h"
#include "tests/support/partition/tried_lists.h"

namespace penstock::partition {
namespace {

/// Counts steps whose lists were found, and compares them with all lists that there are.
struct TriedSteps {
  int steps = 0, down_and_up = 0, round = 0, bound_by_memory = 0;
  int optimal = 0, known_by_bound = 0;
  double max = 0, sum = 0;  // of what is found over the shortest, less 1

  double mean() const { return sum / steps; }
};

/// In test runs 2,000; PENSTOCK_ALL_LISTS says another number, and has it tell what it saw.
int rounds() {
  const char* asked = std::getenv("PENSTOCK_ALL_LISTS");
  return asked == nullptr ? 2000 : std::atoi(asked);
}

void tell(const TriedSteps& tried) {
  if (std::getenv("PENSTOCK_ALL_LISTS") == nullptr) return;
  std::cout << fmt::format(
      "{} steps, {} of two chunks down and up, {} of two round, {} whose memory binds: {} "
      "optimal, {} of these known by the bound; gap {:.2f} % at most, {:.4f} % on average\n",
      tried.steps, tried.down_and_up, tried.round, tried.bound_by_memory, tried.optimal,
      tried.known_by_bound, 100 * tried.max, 100 * tried.mean());
}

void compare(const ScheduleProblem& problem, bool keep_order, TriedSteps& tried) {
  const FoundSchedule found = find_schedule(problem, {.effort = 300'000, .keep_order = keep_order});
  const auto shorter = keep_order ? test::shortest_lists(problem, found.order, found.makespan)
                                  : test::shortest_lists(problem, found.makespan);
  const double shortest = shorter.value_or(found.makespan), bound = lower_bound(problem);
  EXPECT_LE(bound, shortest * (1 + 1e-9)) << tried.steps;
  const double gap = found.makespan / shortest - 1;
  const bool several = problem.chunks() > problem.ranks() && problem.ranks() > 1;
  const bool returns = problem.chunk_rank.back() == 0;
  ++tried.steps;
  tried.down_and_up += several && returns;
  tried.round += several && !returns;
  tried.bound_by_memory += problem.memory > 0;
  tried.optimal += gap < 1e-9;
  tried.known_by_bound += bound > found.makespan * (1 - 1e-9);
  tried.sum += gap;
  tried.max = std::max(tried.max, gap);
}

TEST(AllLists, NoneAreMuchShorterThanThoseFound) {
  std::mt19937 random(41);
  TriedSteps tried;
  for (int round = 0; round < rounds(); ++round)
    compare(test::random_step(random), round % 4 == 0, tried);
  tell(tried);
  EXPECT_GE(tried.optimal, 0.95 * tried.steps);
  EXPECT_LE(tried.mean(), 0.002);
}

TEST(AllLists, AreTriedDownToTheShortest) {
  const ScheduleProblem problem{.chunk_rank = {0, 1},
                                .times = {{{1, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {1, 1, 1}}},
                                .transfers = {0, 0}};
  EXPECT_DOUBLE_EQ(test::shortest_lists(problem, {0, 1}, 100).value_or(0), 7);  // as ZB-H1
  EXPECT_FALSE(test::shortest_lists(problem, {0, 1}, 7));
  ScheduleProblem tight = problem;
  tight.memory = 1;  // F F B B W F F B B W, rank after rank
  EXPECT_DOUBLE_EQ(test::shortest_lists(tight, {0, 1}, 100).value_or(0), 10);
}

}  // namespace
}  // namespace penstock::partition
