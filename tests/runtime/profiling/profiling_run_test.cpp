#include "runtime/profiling/profiling_run.h"

#include <gtest/gtest.h>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

/// Steps of odd numbers of actions, of which some have none.
std::vector<ProfiledStep> steps_of(int rank) {
  std::vector<ProfiledStep> steps;
  for (int s = 0; s < 3; ++s) {
    ProfiledStep& step = steps.emplace_back();
    step.start = rank + 10.0 * s;
    step.end = step.start + 7.25;
    for (int a = 0; a < (rank + s) % 4; ++a)
      step.actions.push_back(
          {.action = {a == 2 ? partition::ActionKind::step : partition::ActionKind::backward_weight,
                      rank + a, 5 * s + a},
           .start = step.start + a,
           .end = step.start + a + 0.5,
           .computing = 0.125 * (1 + a + rank),
           .layers = {{1, 2}, {3}, {4}}});
  }
  return steps;
}

TEST(GatherActions, BringsEveryRanksStepsToTheFirst) {
  for (const int ranks : {1, 3}) {
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const auto all = gather_actions(world, steps_of(world.rank()));
      if (world.rank() > 0) {
        EXPECT_TRUE(all.empty());
        return;
      }
      ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        const auto expected = steps_of(rank);
        ASSERT_EQ(all[rank].size(), expected.size());
        for (std::size_t s = 0; s < expected.size(); ++s) {
          EXPECT_EQ(all[rank][s].start, expected[s].start);
          EXPECT_EQ(all[rank][s].end, expected[s].end);
          ASSERT_EQ(all[rank][s].actions.size(), expected[s].actions.size());
          for (std::size_t a = 0; a < expected[s].actions.size(); ++a) {
            const WatchedAction &one = all[rank][s].actions[a], &other = expected[s].actions[a];
            EXPECT_EQ(one.action, other.action);
            EXPECT_EQ(one.start, other.start);
            EXPECT_EQ(one.end, other.end);
            EXPECT_EQ(one.computing, other.computing);
            EXPECT_TRUE(one.layers.forward.empty());  // these are not gathered
          }
        }
      }
    });
  }
}

TEST(GatherActions, OfNoStepsIsNothingOfEachRank) {
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& world) {
    const auto all = gather_actions(world, {});
    EXPECT_EQ(all.size(), world.rank() == 0 ? 2u : 0u);
    for (const auto& steps : all) EXPECT_TRUE(steps.empty());
  });
}

}  // namespace
}  // namespace penstock::runtime
