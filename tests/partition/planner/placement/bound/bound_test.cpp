#include "partition/planner/placement/bound/bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

TEST(Bounds, FloorIsBelowTheBestPlacements) {
  std::mt19937 random(20);
  int met = 0, found = 0;
  for (int round = 0; round < 400; ++round) {
    test::Instance instance = test::random_instance(random);
    for (const Objective objective : {Objective::step, Objective::bottleneck}) {
      instance.objective = objective;
      const PlacementProblem problem = instance.problem();
      const Bounds bounds(problem);
      const double work = problem.sequence.work(0, problem.sequence.size());
      for (int stages = 1; stages <= std::min(instance.cluster.size(), problem.sequence.size());
           ++stages) {
        const Grid grid{stages, std::min(instance.cluster.size() / stages, problem.micro_batches)};
        const auto best = find_placement(problem, {.stages = stages, .replicas = grid.replicas});
        if (!best || best->value == 0) continue;
        const Bounds::Floor floor = bounds.floor(grid);
        ASSERT_LE(floor.sum, best->cut.sum * (1 + 1e-9));
        ASSERT_LE(floor.slowest, best->cut.slowest * (1 + 1e-9));
        ASSERT_LE(work / bounds.together(grid), best->cut.slowest * (1 + 1e-9));
        met += floor.sum > best->cut.sum * (1 - 1e-9);
        ++found;
      }
    }
  }
  EXPECT_GT(met, found / 10) << "of " << found;
}

}  // namespace
}  // namespace penstock::partition
