#include "partition/planner/report/plan_diff.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

Plan of_two_stages() {
  return {.model = "m",
          .schedule = "1f1b",
          .micro_batches = 6,
          .lanes = 2,
          .ranks = {{0, 2}, {1, 3}},
          .chunks = {{.stage = 0,
                      .layers = {"a", "b"},
                      .predicted = {.time_share = 0.45, .bytes = {.weights = 3 << 20}}},
                     {.stage = 1,
                      .layers = {"c"},
                      .predicted = {.time_share = 0.55, .bytes = {.weights = 5 << 20}}}}};
}

std::vector<std::string> lines(const Plan& first, const Plan& second) {
  std::vector<std::string> lines;
  for (const PlanDifference& one : differences(first, second))
    lines.push_back(one.what + ": " + one.first + " | " + one.second);
  return lines;
}

TEST(PlanDiff, IsEmptyForEqualPlans) {
  EXPECT_TRUE(differences(of_two_stages(), of_two_stages()).empty());
}

TEST(PlanDiff, NamesWhatMovedAndWhatItChanges) {
  Plan moved = of_two_stages();
  moved.schedule = "zb-h1";
  moved.order = {1, 0, 2, 3, 4, 5};
  moved.chunks[0].layers = {"a"};
  moved.chunks[0].predicted.time_share = 0.2;
  moved.chunks[1].layers = {"b", "c"};
  moved.chunks[1].recomputed = {"b"};
  moved.chunks[1].predicted = {.time_share = 0.8, .bytes = {.weights = 7 << 20}};
  EXPECT_EQ(
      lines(of_two_stages(), moved),
      (std::vector<std::string>{
          "schedule: 1f1b | zb-h1", "order: none | another", "stage 0, layers: a to b (2) | a",
          "stage 0, computing time: 45.0 % | 20.0 %", "stage 1, layers: c | b to c (2)",
          "stage 1, recomputed: – | b", "stage 1, computing time: 55.0 % | 80.0 %",
          "stage 1, memory: 5 MiB | 7 MiB", "computing time, slowest stage: 55.0 % | 80.0 %",
          "memory, fullest stage: 5 MiB | 7 MiB"}));
}

TEST(PlanDiff, NamesBuckets) {
  Plan plan = of_two_stages();
  plan.bucket_bytes = 7 << 20;
  EXPECT_EQ(lines(of_two_stages(), plan),
            (std::vector<std::string>{
                "gradients that replicas add at once: as the recipe says | 7340032 bytes"}));
}

TEST(PlanDiff, RecomputedLayersStandInRuns) {
  Plan plain = of_two_stages();
  plain.chunks = {{.stage = 0, .layers = {"a", "b", "c", "d", "e"}},
                  {.stage = 1, .layers = {"f"}},
                  {.stage = 0, .layers = {"g", "h"}}};
  Plan again = plain;
  again.chunks[0].recomputed = {"a", "b", "c", "e"};
  again.chunks[2].recomputed = std::vector<std::string>{};
  EXPECT_EQ(lines(plain, again),
            (std::vector<std::string>{"stage 0, recomputed: – | a to c (3), e and –"}));
}

TEST(PlanDiff, OfOtherNumbersOfStages) {
  Plan one = of_two_stages();
  one.ranks = {{0, 1}};
  one.chunks.pop_back();
  one.chunks[0].layers = {"a", "b", "c"};
  EXPECT_EQ(lines(one, of_two_stages()),
            (std::vector<std::string>{
                "layout: 1 stage × 2 replicas | 2 stages × 2 replicas",
                "stage 0, layers: a to c (3) | a to b (2)", "stage 0, ranks: 0 1 | 0 2",
                "stage 1, layers: – | c", "stage 1, ranks: – | 1 3",
                "stage 1, computing time: – | 55.0 %", "stage 1, memory: – | 5 MiB",
                "computing time, slowest stage: 45.0 % | 55.0 %",
                "memory, fullest stage: 3 MiB | 5 MiB"}));
}

}  // namespace
}  // namespace penstock::partition
