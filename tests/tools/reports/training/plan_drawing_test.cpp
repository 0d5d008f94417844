#include "tools/reports/training/plan_drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/quantities.h"

namespace penstock::tools {
namespace {

/// A plan of equal stages, with one chunk each.
partition::Plan small_plan(int stages, int micro_batches, const std::string& schedule = "1f1b") {
  partition::Plan plan{.schedule = schedule, .micro_batches = micro_batches};
  plan.ranks = partition::neighbouring_stages(stages, 1);
  for (int stage = 0; stage < stages; ++stage) {
    partition::ChunkPlan chunk{.stage = stage, .layers = {"layer"}};
    chunk.predicted.time_share = 1.0 / stages;
    chunk.predicted.bytes.weights = 3 << 20;
    chunk.predicted.bytes.saved = std::size_t{1} << (20 + stage);
    plan.chunks.push_back(chunk);
  }
  return plan;
}

/// Returns [class, x, width] of each rectangle.
std::vector<std::tuple<std::string, double, double>> bars(const std::string& html) {
  const std::regex bar(R"r(<rect class="(\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)")r");
  std::vector<std::tuple<std::string, double, double>> found;
  for (std::sregex_iterator at(html.begin(), html.end(), bar), end; at != end; ++at)
    found.emplace_back((*at)[1], std::stod((*at)[2]), std::stod((*at)[3]));
  return found;
}

TEST(PlanDrawing, MemoryBarsAreInProportion) {
  const std::string html = plan_memory_html(small_plan(2, 4), 0);
  const auto found = bars(html);
  ASSERT_EQ(found.size(), 4u);
  const double mib = std::get<2>(found[0]) / 3;
  EXPECT_NEAR(std::get<2>(found[1]), mib, 0.02);
  EXPECT_NEAR(std::get<1>(found[1]), std::get<1>(found[0]) + 3 * mib, 0.02);
  EXPECT_NEAR(std::get<2>(found[3]), 2 * mib, 0.02);
  EXPECT_NE(html.find("<title>activations: 2 MiB</title>"), std::string::npos);
  EXPECT_NE(html.find(">4 MiB</text>"), std::string::npos);
  EXPECT_EQ(html.find("optimizer"), std::string::npos);
  EXPECT_EQ(html.find("memory_gib"), std::string::npos);
}

TEST(PlanDrawing, MemoryShowsItsLimit) {
  const std::string html = plan_memory_html(small_plan(2, 4), kGib / 64);
  EXPECT_NE(html.find("pipeline.memory_gib: 16 MiB"), std::string::npos);
  EXPECT_NE(html.find("class=\"limit\""), std::string::npos);
}

TEST(PlanDrawing, PlansWithoutBytesHaveNoMemory) {
  partition::Plan plan = small_plan(1, 1);
  plan.chunks[0].predicted = {};
  EXPECT_EQ(plan_memory_html(plan, 0), "");
}

/// Two equal stages with four micro-batches: 1F1B computes 4 of 5 times on each of them.
TEST(PlanDrawing, TimelineHasEveryPass) {
  const std::string html = plan_timeline_html(small_plan(2, 4));
  const auto found = bars(html);
  EXPECT_EQ(found.size(), 16u);
  EXPECT_EQ(std::ranges::count(found, "forward", [](const auto& bar) { return std::get<0>(bar); }),
            8);
  EXPECT_EQ(std::ranges::count(found, "both", [](const auto& bar) { return std::get<0>(bar); }), 8);
  EXPECT_NE(html.find(">80 %</text>"), std::string::npos);
  EXPECT_NE(html.find("<title>forward of micro-batch 3 on chunk 1</title>"), std::string::npos);
  double end = 0;
  for (const auto& [kind, x, width] : found) end = std::max(end, x + width);
  EXPECT_NEAR(end, 533, 0.1);  // a pass ends a unit before the next one
}

TEST(PlanDrawing, TimelineFollowsTheShares) {
  partition::Plan plan = small_plan(2, 1);
  plan.chunks[0].predicted.time_share = 0.75;
  plan.chunks[1].predicted.time_share = 0.25;
  const auto found = bars(plan_timeline_html(plan));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_NEAR(std::get<2>(found[0]) + 1, 468 * 0.25, 0.1);
  EXPECT_NEAR(std::get<2>(found[1]) + 1, 468 * 0.5, 0.1);
}

TEST(PlanDrawing, SplitBackwardHasTwoColours) {
  partition::Plan plan = small_plan(2, 4, "zb-v");
  plan.chunks.insert(plan.chunks.end(), {plan.chunks[1], plan.chunks[0]});
  const std::string html = plan_timeline_html(plan);
  const auto found = bars(html);
  EXPECT_EQ(found.size(), 48u);
  EXPECT_EQ(std::ranges::count(found, "weight", [](const auto& bar) { return std::get<0>(bar); }),
            16);
  EXPECT_NE(html.find("backward, weights"), std::string::npos);
}

TEST(PlanDrawing, LongStepsAreNotDrawn) {
  const std::string html = plan_timeline_html(small_plan(4, 400));
  EXPECT_NE(html.find("A step has 3200 passes on 4 stages"), std::string::npos) << html;
  EXPECT_TRUE(bars(html).empty());
}

/// A list of this many passes fits no memory, so it is never made.
TEST(PlanDrawing, EndlessStepsAreCountedAlone) {
  const std::string html = plan_timeline_html(small_plan(4, 2'000'000'000));
  EXPECT_NE(html.find("A step has 16000000000 passes on 4 stages"), std::string::npos) << html;
}

}  // namespace
}  // namespace penstock::tools
