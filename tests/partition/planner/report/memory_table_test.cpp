#include "partition/planner/report/memory_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::partition {
namespace {

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
