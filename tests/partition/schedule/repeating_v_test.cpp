#include <gtest/gtest.h>

#include <algorithm>

#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

int half_pairs(int stages) { return 2 * ((stages + 2) / 2); }
int third_pairs(int stages) { return 2 * ((stages + 4) / 3); }

/// Returns the makespan if passes take 1 on a rank, 1/2 on each of its chunks.
double makespan(const Schedule& schedule) {
  const std::vector<ChunkTimes> times(schedule.chunks(), {0.5, 0.5, 0.5});
  return simulate(schedule, equal_micro_batches(times)).makespan;
}

int max(const Schedule& schedule) { return std::ranges::max(peak_activations(schedule)); }

TEST(RepeatingV, IsSoundWithinItsMemoryForAnySizes) {
  for (int stages = 1; stages <= 13; ++stages) {
    for (const int batches : {1, 2, 3, 5, 8, 13, 21, 40}) {
      const Schedule half = v_half(stages, batches), third = v_min(stages, batches);
      for (const Schedule* schedule : {&half, &third})
        EXPECT_NO_THROW(validate(*schedule)) << schedule->name << " " << stages << " " << batches;
      EXPECT_LE(max(half), half_pairs(stages)) << stages << " " << batches;
      EXPECT_LE(max(third), third_pairs(stages)) << stages << " " << batches;
    }
  }
}

TEST(RepeatingV, FillsItsMemoryWithManyMicroBatches) {
  for (int stages = 1; stages <= 13; ++stages) {
    EXPECT_EQ(max(v_half(stages, 4 * stages)), half_pairs(stages)) << stages;
    EXPECT_EQ(max(v_min(stages, 4 * stages)), third_pairs(stages)) << stages;
  }
}

TEST(RepeatingV, MakespansAreThePublishedOnes) {
  EXPECT_DOUBLE_EQ(makespan(v_half(8, 32)), 104.5);  // as the authors' code makes them
  EXPECT_DOUBLE_EQ(makespan(v_min(8, 32)), 109.5);
  EXPECT_DOUBLE_EQ(makespan(v_min(4, 16)), 53.5);
  EXPECT_DOUBLE_EQ(makespan(v_half(6, 20)), 65.5);
  EXPECT_DOUBLE_EQ(makespan(v_min(9, 27)), 95.5);
}

TEST(RepeatingV, BubblesGrowWithTheRanksAlone) {
  for (int stages = 3; stages <= 16; ++stages) {
    const double half = stages % 2 == 0 ? 3.5 : 2, third = stages % 3 == 0 ? 3.5 : 2.5;
    for (const int batches : {4 * stages, 4 * stages + 1, 6 * stages + 5}) {
      EXPECT_DOUBLE_EQ(makespan(v_half(stages, batches)), 3 * batches + 1.5 * stages - half)
          << stages << " " << batches;
      EXPECT_DOUBLE_EQ(makespan(v_min(stages, batches)), 3 * batches + 2 * stages - third)
          << stages << " " << batches;
    }
  }
}

}  // namespace
}  // namespace penstock::partition
