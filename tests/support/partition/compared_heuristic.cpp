#include "tests/support/partition/compared_heuristic.h"

#include <gtest/gtest.h>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/rounding.h"

namespace penstock::test {

void ComparedHeuristic::add(const Instance& instance, int replicas,
                            const partition::PlacedCut& placed) {
  const auto exact = partition::find_placement(instance.problem(), {.replicas = replicas});
  ASSERT_TRUE(exact) << "nothing fits";
  const auto value = value_of(instance, placed.cut.begin, placed.devices);
  ASSERT_TRUE(value) << "more memory than there is";
  EXPECT_NEAR(placed.cut.value, *value, rounding * *value);
  EXPECT_GE(*value, exact->value * (1 - rounding));
  ++compared;
  best += *value <= exact->value * (1 + rounding);
}

}  // namespace penstock::test
