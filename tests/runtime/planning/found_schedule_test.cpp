#include "runtime/planning/found_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "configs/load.h"
#include "configs/rules.h"
#include "layers/models/families.h"
#include "partition/plan/plan_file.h"
#include "partition/plan/plan_schedule.h"
#include "partition/schedule/in_flight.h"
#include "runtime/planning/plan_recipe.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class FoundSchedules : public testing::Test {
 protected:
  FoundSchedules() { test::write_tone_corpus(in("train.jsonl"), 47, 1); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  partition::Plan plan(std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(),
                     {"pipeline.schedule=found", "data.micro_batches=8", "trainer.lanes=0"});
    const configs::Config config =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe.toml",
                              layers::model_families(), overrides);
    return plan_recipe(config, false).plan;
  }

  test::TemporaryFolder folder_;
};

int most_in_flight(const partition::Plan& plan) {
  const partition::Schedule lists = partition::lists_of(plan.actions);
  int most = 0;
  for (int stage = 0; stage < plan.stages(); ++stage)
    most = std::max(most, partition::count_in_flight(lists, stage).slots);
  return most;
}

TEST_F(FoundSchedules, FindOrderAndListsForTheManifest) {
  for (const int stages : {2, 3}) {
    const partition::Plan found = plan({fmt::format("pipeline.stages={}", stages)});
    EXPECT_EQ(found.schedule, "found");
    EXPECT_EQ(found.order.size(), 8u);
    EXPECT_EQ(configs::fault_of_order(found.order, 8), "");
    EXPECT_EQ(found.actions.size(), static_cast<std::size_t>(stages));
    EXPECT_EQ(partition::schedule_of(found).of(8).micro_batches, 8);
    EXPECT_LE(most_in_flight(found), stages);
    EXPECT_EQ(found, plan({fmt::format("pipeline.stages={}", stages)}));  // nothing varies
  }
}

TEST_F(FoundSchedules, GiveEveryReplicaTheSameOrder) {
  const partition::Plan found = plan({"pipeline.stages=2", "pipeline.replicas=2"});
  EXPECT_EQ(configs::fault_of_order(found.order, 8), "");
  for (std::size_t i = 0; i < found.order.size(); i += 2) {
    EXPECT_EQ(found.order[i] % 2, 0);
    EXPECT_EQ(found.order[i + 1], found.order[i] + 1);
  }
  EXPECT_EQ(partition::lists_of(found.actions).micro_batches, 4);
}

TEST_F(FoundSchedules, KeepAnOrderThatIsThere) {
  const partition::Plan found =
      plan({"pipeline.stages=3", "trainer.order=[7, 0, 6, 1, 5, 2, 4, 3]"});
  EXPECT_EQ(found.order, (std::vector{7, 0, 6, 1, 5, 2, 4, 3}));
  EXPECT_EQ(partition::lists_of(found.actions).micro_batches, 8);
  // The lists are for the sizes in their places.
  const partition::Plan other =
      plan({"pipeline.stages=3", "trainer.order=[0, 1, 2, 3, 4, 5, 6, 7]"});
  EXPECT_EQ(other.order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_NE(other.actions, found.actions);
}

TEST_F(FoundSchedules, NeedNoOrderOnOneStage) {
  const partition::Plan found = plan({});
  EXPECT_TRUE(found.order.empty());
  EXPECT_EQ(found.actions.size(), 1u);
}

TEST_F(FoundSchedules, KeepWithinTheMemory) {
  const partition::Plan free = plan({"pipeline.stages=2"});
  const auto bytes_of = [](const partition::Plan& plan) {
    return std::max(plan.bytes_of(0).total(), plan.bytes_of(1).total());
  };
  const auto within = [&](double bytes) {
    return plan({"pipeline.stages=2", fmt::format("pipeline.memory_gib={:f}", bytes / (1 << 30))});
  };
  const auto needed = static_cast<double>(bytes_of(free));
  EXPECT_EQ(most_in_flight(free), 2);
  for (const auto& [share, held] : {std::pair{0.8, 2}, {0.65, 1}}) {
    const partition::Plan tight = within(share * needed);
    EXPECT_LE(bytes_of(tight), share * needed);
    EXPECT_EQ(most_in_flight(tight), held) << share;
  }
  const partition::Plan roomy = within(4 * needed);
  EXPECT_GT(most_in_flight(roomy), 2);
  EXPECT_LE(most_in_flight(roomy), 4);  // twice the stages
  EXPECT_THROW(within(0.1 * needed), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
