#include "partition/placement/run_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/placement/search.h"
#include "tests/support/tried_placements.h"

namespace penstock {
namespace {

TEST(RunBound, IsNeverAboveTheBestOfAllCutsAndPermutations) {
  std::mt19937 random(11);
  int met = 0, bounded = 0;
  for (int round = 0; round < 2000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    const int devices = instance.cluster.size();
    for (int stages = 1; stages <= std::min(devices, problem.chain.size()); ++stages) {
      const int replicas = std::min(devices / stages, problem.micro_batches);
      const auto best = find_placement(problem, {.stages = stages, .replicas = replicas});
      if (!best || best->value == 0) continue;
      const double loose = 1.5 * best->value,
                   bound = RunBound(problem, loose).of({stages, replicas});
      ASSERT_LE(bound, best->value * (1 + 1e-9)) << round << ": " << stages << " × " << replicas;
      EXPECT_GT(bound, 0);
      met += bound > best->value * (1 - 1e-9);
      ++bounded;
    }
  }
  EXPECT_GT(met, bounded / 5) << "of " << bounded;
}

}  // namespace
}  // namespace penstock
