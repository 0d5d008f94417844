#include "partition/planner/choose/found_candidates.h"

#include <gtest/gtest.h>

#include "partition/planner/choose/find_choice.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

class FoundAlternatives : public testing::Test {
 protected:
  /// Of one pipeline of two devices under each schedule, whose chunks are the same.
  std::vector<Candidate> same_chunks() {
    std::vector<Candidate> all;
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
      PlanChoice choice{.stages = 2,
                        .batch = problem_.batches.front(),
                        .schedule = schedule,
                        .devices = {{0}, {1}},
                        .begin = {0, 2, 4}};
      ChoiceEstimate estimate =
          estimate_choice(problem_, workloads_.of(choice.batch, 1, false), choice);
      all.push_back({.choice = std::move(choice), .estimate = std::move(estimate)});
    }
    return all;
  }

  LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = [&] {
    PlanningProblem problem = test::planned_sequence(sequence_, 2, 1e9);
    problem.find_effort = 20'000;
    return problem;
  }();
  Workloads workloads_{problem_};
};

TEST_F(FoundAlternatives, HaveOneOfThoseWithTheSameChunks) {
  EXPECT_EQ(found_candidates(problem_, workloads_, same_chunks()).size(), 1u);
}

TEST_F(FoundAlternatives, TakeTheNextWhereOneFails) {
  std::vector<Candidate> all = same_chunks();
  all[2].choice.recomputed.assign(4, true);  // without that there is no room
  problem_.recomputed = ChosenLayers();
  problem_.bytes = [&](const PlanChoice& choice) {
    const std::int64_t frames = choice.recomputed.empty() ? 1'000'000 : 12;
    const ChunkLoad load{{{frames}}, schedule_of(choice).of(4), choice.recomputed};
    return ChunkBytes(sequence_, {load}, {}, {});
  };
  for (Device& device : problem_.cluster.devices) device.memory = 1e6;
  const auto found = found_candidates(problem_, workloads_, all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().choice.recomputed, ChosenLayers(4, true));
  all.pop_back();
  EXPECT_TRUE(found_candidates(problem_, workloads_, all).empty());
}

TEST_F(FoundAlternatives, AreNoneWithoutTimeUnlessOneMustBe) {
  const TimeLimit over(0);
  problem_.time = &over;
  EXPECT_TRUE(found_candidates(problem_, workloads_, same_chunks()).empty());
  problem_.finds_only = true;
  EXPECT_EQ(found_candidates(problem_, workloads_, same_chunks()).size(), 1u);
}

}  // namespace
}  // namespace penstock::partition
