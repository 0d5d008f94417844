#include "partition/planner/report/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::partition {
namespace {

TEST(PlanTable, ShowsStagesMemoryAndBound) {
  Plan plan{.schedule = "1f1b", .micro_batches = 6, .lanes = 2, .ranks = {{0, 2}, {1, 3}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"conv1"}},
                 {.stage = 1, .first = 1, .layers = {"norm1", "rnn1.input", "ctc"}}};
  constexpr std::size_t mib = 1 << 20;
  plan.chunks[0].predicted = {
      0.4, 999, {mib, 2 * mib, 3 * mib, 0, mib / 2, 6 * mib, 7 * mib, mib / 4}};
  plan.chunks[1].predicted = {0.6, 1234567, {1000 * mib, 0, 0, 0, 0, 0, 0, 0}};
  const PlanEstimate estimate{.bound = 1.36, .idle = {0.455, 0.1}};
  EXPECT_EQ(plan_table(plan, estimate, 80),
            R"(stage  ranks  parameters    time    idle  layers
    0  0 2           999  40.0 %  45.5 %  conv1
    1  1 3     1,234,567  60.0 %  10.0 %  norm1 to ctc (3)

MiB of stage     0       1
weights        1.0  1000.0
gradients      2.0     0.0
optimizer      3.0     0.0
activations    0.5     0.0
messages       6.0     0.0
scratch        7.0     0.0
reduction      0.2     0.0
total         19.8  1000.0

1f1b: 6 micro-batches a step in 2 lanes, 2 stages × 2 replicas; at most
1.36 times one stage
)");
}

TEST(PlanTable, ShowsEveryChunkAndAStagesMemoryOnce) {
  Plan plan{.schedule = "zb-v", .ranks = {{0}, {1}}};
  for (const int stage : {0, 1, 1, 0}) {
    plan.chunks.push_back({.stage = stage, .layers = {"layer" + std::to_string(stage)}});
    plan.chunks.back().predicted.bytes.saved = std::size_t(stage + 3) << 20;
  }
  const std::string table = plan_table(plan, {.bound = 1, .idle = {0, 0}}, 80);
  const auto lines = [&](const std::string& of) {
    int count = 0;
    for (auto at = table.find(of); at != std::string::npos; at = table.find(of, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(lines("layer0"), 2) << table;
  EXPECT_EQ(lines("activations   3.0  4.0\n"), 1) << table;
}

TEST(PlanTable, ShowsWhatOtherReplicasHoldInstead) {
  Plan plan{.schedule = "1f1b", .ranks = {{0, 1}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"conv1"}}};
  StageBytes& bytes = plan.chunks[0].predicted.bytes;
  bytes.weights = 3 << 20;
  bytes.sharded_away = 5 << 19;
  const std::string table = plan_table(plan, {.bound = 1, .idle = {0}}, 80);
  EXPECT_NE(table.find("total         3.0\nspared        2.5\n"), std::string::npos) << table;
}

constexpr double kMib = 1 << 20;

TEST(MemoryTable, HasAColumnForEachStage) {
  const std::vector<MemoryByKind> stages = {
      {{"weights", 1.5 * kMib}, {"state", 1}, {"messages", 0}},
      {{"weights", 700 * kMib}, {"state", 0}, {"messages", 0}}};
  EXPECT_EQ(
      memory_table(stages, {{"limit", {std::numeric_limits<double>::infinity(), 1024 * kMib}}}, 80),
      "MiB of stage    0       1\n"
      "weights       1.5   700.0\n"
      "state         0.0     0.0\n"
      "total         1.5   700.0\n"
      "limit           –  1024.0\n")
      << "no messages";
}

TEST(MemoryTable, CountsInGiBFromOneStageOn) {
  EXPECT_EQ(memory_table({{{"weights", 512 * kMib}, {"state", 1024 * kMib}}}, {}, 80),
            "GiB of stage     0\n"
            "weights       0.50\n"
            "state         1.00\n"
            "total         1.50\n");
}

TEST(MemoryTable, NamesEveryKindOfAStage) {
  const StageBytes bytes{.weights = 1, .gradients = 2, .optimizer = 3, .state = 4, .saved = 5};
  const MemoryByKind memory = by_kind(bytes);
  ASSERT_EQ(memory.size(), 8u);
  EXPECT_EQ(memory[3], std::pair(std::string("state"), 4.0));
  EXPECT_EQ(memory[4], std::pair(std::string("activations"), 5.0));
}

}  // namespace
}  // namespace penstock::partition
