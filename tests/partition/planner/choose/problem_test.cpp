#include "partition/planner/choose/problem.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

TEST(Workload, EstimatesTheMicroBatchesOfEveryReplica) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = test::planned_sequence(sequence, 2, 1e9);
  Workloads workloads(problem);
  const Workload& work = workloads.of(problem.constraints.batches.front(), 2);
  ASSERT_EQ(work.steps.size(), 2u);
  EXPECT_EQ(work.steps[0].replicas[0].micro_batches(), 2);
  EXPECT_EQ(work.audio_seconds, 16);
  // Frames of the first step: 12, 14, 16 and 12; each of the second's has one more. Every frame
  // takes 3 × (2 + 1 + 4 + 3).
  EXPECT_DOUBLE_EQ(work.work, 30 * (54 + 58) / 2.0);
  EXPECT_DOUBLE_EQ(work.longest, 20 * (16 + 17) / 2.0);
  double mean = 0;
  for (const LayerProfile& layer : work.mean.layers)
    mean += (layer.forward_ms + layer.backward_ms) / 1e3;
  EXPECT_NEAR(mean, work.work / 4, 1e-9);
  EXPECT_EQ(work.mean.layers[2].parameter_bytes, (12 * 10 + 10) * 4);
  EXPECT_EQ(&work, &workloads.of(problem.constraints.batches.front(), 2));
}

}  // namespace

}  // namespace penstock::partition
