#include "runtime/profiling/plan_links.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

/// Two replicas of three stages, of which the first has the last chunk as well.
partition::Plan plan_in_a_ring() {
  partition::Plan plan;
  for (const int stage : {0, 1, 2, 0}) plan.chunks.push_back({.stage = stage});
  plan.ranks = {{0, 3}, {1, 4}, {2, 5}};
  return plan;
}

TEST(PlanLinks, AreBetweenRanksThatExchangeMessages) {
  comm::run_as_threads({.ranks = 6}, [](comm::Communicator& world) {
    configs::TrainerConfig config;
    config.device = "cpu";
    const PlanLinks measured = measure_plan_links(plan_in_a_ring(), config, world);
    std::vector<std::pair<int, int>> pairs;
    for (const auto& [pair, rates] : measured.rates) {
      pairs.push_back(pair);
      EXPECT_GT(rates.latency, 0);
      EXPECT_GT(rates.bandwidth, 1);
    }
    EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1},
                                                       {0, 2},
                                                       {1, 0},
                                                       {1, 2},
                                                       {2, 0},
                                                       {2, 1},
                                                       {3, 4},
                                                       {3, 5},
                                                       {4, 3},
                                                       {4, 5},
                                                       {5, 3},
                                                       {5, 4}}));
    EXPECT_EQ(measured.links, DeviceLinks::host);
    EXPECT_LE(measured.overlap, 1);
  });
}

TEST(PlanLinks, OneStageHasNone) {
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& world) {
    partition::Plan plan;
    plan.chunks.push_back({.stage = 0});
    plan.ranks = {{0, 1}};
    configs::TrainerConfig config;
    config.device = "cpu";
    const PlanLinks measured = measure_plan_links(plan, config, world);
    EXPECT_TRUE(measured.rates.empty());
    EXPECT_EQ(measured.overlap, 1);
  });
}

}  // namespace
}  // namespace penstock::runtime
