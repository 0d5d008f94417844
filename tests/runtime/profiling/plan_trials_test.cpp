#include "runtime/profiling/plan_trials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/planning/plan.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class PlanTrials : public testing::Test {
 protected:
  PlanTrials() { test::write_tone_corpus(in("train.jsonl"), 13, 1); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  configs::Config recipe(int stages, int replicas) const {
    return configs::parse_config(
        test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe.toml",
        layers::model_families(),
        std::vector<std::string>{fmt::format("pipeline.stages={}", stages),
                                 fmt::format("pipeline.replicas={}", replicas)});
  }

  /// Returns the seconds that each rank is told for plans that differ in where their ranks are.
  std::vector<std::vector<double>> told(
      const configs::Config& config, const std::vector<std::vector<std::vector<int>>>& placements,
      int ranks, int steps) const {
    partition::Plan plan = plan_for_ranks(config, false).plan;
    std::vector<std::string> plans;
    for (const auto& placement : placements) {
      plan.ranks = placement;
      plans.push_back(partition::plan_toml(plan));
    }
    std::vector<std::vector<double>> told(ranks);
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const bool knows = world.rank() == 0;
      told[world.rank()] =
          try_plans(world, config, knows ? plans : std::vector<std::string>(), steps);
    });
    return told;
  }

  test::TemporaryFolder folder_;
};

TEST_F(PlanTrials, TellEveryRankTheSameAndWriteNothing) {
  const auto told = this->told(recipe(2, 1), {{{0}, {1}}, {{1}, {0}}}, 2, 5);  // two turns
  ASSERT_EQ(told[0].size(), 2u);
  for (const double seconds : told[0]) EXPECT_GT(seconds, 0);
  EXPECT_EQ(told[0], told[1]);
  EXPECT_FALSE(std::filesystem::exists(in("output")));
}

TEST_F(PlanTrials, RunReplicasOnRanksInAnyOrder) {
  const auto told = this->told(recipe(2, 2), {{{3, 0}, {1, 2}}}, 4, 2);
  ASSERT_EQ(told[0].size(), 1u);
  EXPECT_GT(told[0][0], 0);
  for (const auto& of_rank : told) EXPECT_EQ(of_rank, told.front());
}

TEST_F(PlanTrials, RejectAJobOfOtherRanks) {
  EXPECT_THROW(told(recipe(2, 1), {{{0}, {1}}}, 3, 1), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
