#include "partition/planner/search/greedy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "partition/planner/search/pattern_estimator.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tests/support/partition/schedule_interpreter.h"

namespace penstock::partition {
namespace {

ScheduleProblem random_problem(std::vector<int> chunk_rank, int batches, std::mt19937& random) {
  std::uniform_real_distribution<double> size(0.1, 3);
  ScheduleProblem problem{.chunk_rank = std::move(chunk_rank)};
  for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
    auto& times = problem.times.emplace_back();
    auto& held = problem.held.emplace_back();
    for (int batch = 0; batch < batches; ++batch) {
      times.push_back({size(random), size(random), size(random)});
      held.push_back(size(random));
    }
    problem.transfers.push_back(size(random) / 5);
  }
  for (int batch = 0; batch < batches; ++batch) {  // as little as holds each alone
    std::vector<double> alone(problem.ranks(), 0);
    for (int chunk = 0; chunk < problem.chunks(); ++chunk)
      alone[problem.chunk_rank[chunk]] += problem.held[chunk][batch];
    problem.memory = std::max(problem.memory, std::ranges::max(alone));
  }
  return problem;
}

TEST(Greedy, FitsIntoTheMemoryOfOneMicroBatch) {
  std::mt19937 random(7);
  const std::vector<std::vector<int>> layouts{
      {0, 1, 2}, {0, 1, 2, 2, 1, 0}, {0, 1, 2, 0, 1, 2}, {0, 1, 0, 1, 1, 0}, {0, 0, 1}};
  for (int round = 0; round < 200; ++round) {
    const int batches = 1 + round % 8;
    ScheduleProblem problem = random_problem(layouts[round % 5], batches, random);
    problem.memory *= std::array{1.0, 1.3, 2.5}[round % 3];
    std::vector<int> order(batches);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    const Pattern pattern = greedy(problem, order);
    EXPECT_TRUE(std::isfinite(PatternEstimator(problem).makespan(pattern))) << round;
    const Schedule schedule = unfold(pattern, problem.chunk_rank, "greedy");
    EXPECT_NO_THROW(validate(schedule)) << round;
    EXPECT_EQ(test::run_schedule(schedule, random), "") << round;
    EXPECT_TRUE(problem.fits(problem.peak(schedule, order))) << round;
  }
}

// Forwards, then gradients, of a rank alone; of two, as the memory of ZB-H1 allows.
TEST(Greedy, TakesGradientsFirstAndFillsGapsWithWeights) {
  ScheduleProblem problem{.chunk_rank = {0, 1}};
  problem.times.assign(2, std::vector<ChunkTimes>(4, {1, 1, 1}));
  problem.memory = 2;
  const Schedule schedule = unfold(greedy(problem, {0, 1, 2, 3}), problem.chunk_rank, "greedy");
  EXPECT_DOUBLE_EQ(simulate(schedule, problem.durations({0, 1, 2, 3})).makespan, 13);
}

}  // namespace
}  // namespace penstock::partition
