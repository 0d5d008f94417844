#include "partition/planner/plan/profiled_step.h"

#include <gtest/gtest.h>

#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

TEST(ProfiledStep, FollowsTheProfileThePlanAndTheLengths) {
  const LayerSequence sequence = test::small_sequence();
  DeviceProfile profile;
  using T = CostTerm;
  for (int i = 0; i < 4; ++i)
    profile.layers.push_back({"", {{T::frames}, {i + 1.0}}, {{T::constant}, {10}}, {{}, {}}});
  profile.reading = {{T::constant}, {5}};
  profile.step_s = 1000;
  profile.parameter_s = 3;
  Plan plan{.schedule = "gpipe", .micro_batches = 2, .lanes = 1, .ranks = {{0}, {1}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"conv", "relu", "hidden"}},
                 {.stage = 1, .first = 3, .layers = {"output"}}};
  plan.chunks[0].predicted.parameters = 7;
  plan.chunks[1].predicted.parameters = 100;

  const std::vector<MicroBatchLengths> lengths{{{7, 2}}, {{4}}};
  const StepEstimate step(profiled_costs(profile, sequence, {}, lengths),
                          profiled_layout(profile, plan, 2));
  EXPECT_EQ(step.times()[0][0].forward, 9 * (1 + 2 + 3) + 5);
  EXPECT_EQ(step.times()[0][1].forward, 4 * (1 + 2 + 3) + 5);
  EXPECT_EQ(step.times()[1][0].forward, 9 * 4);
  EXPECT_EQ(step.times()[1][0].backward_input, 10);
  const Simulation run = step.simulation();
  EXPECT_EQ(run.ranks[0].back().end - run.ranks[0].back().start, 1000 + 3 * 7);
  EXPECT_EQ(run.ranks[1].back().end - run.ranks[1].back().start, 1000 + 3 * 100);
}

}  // namespace
}  // namespace penstock::partition
