#include "partition/planner/plan/any_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "partition/planner/plan/plan_file.h"

namespace penstock::partition {
namespace {

Plan small_plan() {
  Plan plan{.model = "kind=small", .micro_batches = 3, .ranks = {{0}, {1}}};
  for (int stage = 0; stage < 2; ++stage)
    plan.chunks.push_back({.stage = stage, .layers = {"layer" + std::to_string(stage)}});
  plan.chunks[1].predicted.time_share = 0.25;
  plan.chunks[1].predicted.bytes.saved = 4096;
  return plan;
}

TEST(AnyPlan, NeedsNoModel) {
  const Plan read = parse_any_plan(plan_toml(small_plan()), "plan.toml");
  EXPECT_EQ(read.stages(), 2);
  EXPECT_EQ(read.micro_batches, 3);
  EXPECT_EQ(read.chunks[1].layers, std::vector<std::string>{"layer1"});
  EXPECT_EQ(read.bytes_of(1).saved, 4096u);
  EXPECT_EQ(read.chunks[1].predicted.time_share, 0.25);
}

TEST(AnyPlan, NamesStagesThatAreMissing) {
  Plan plan = small_plan();
  plan.chunks.pop_back();
  EXPECT_THROW((void)parse_any_plan(plan_toml(plan), "plan.toml"), ConfigError);
  plan.chunks[0].stage = 7;
  EXPECT_THROW((void)parse_any_plan(plan_toml(plan), "plan.toml"), ConfigError);
  EXPECT_THROW((void)parse_any_plan("model = ", "plan.toml"), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
