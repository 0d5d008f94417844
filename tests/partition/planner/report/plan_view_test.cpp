#include "partition/planner/report/plan_view.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::partition {
namespace {

TEST(PlanView, AddsUpWhatLinksCarry) {
  Cluster cluster = equal_devices(4);
  cluster.node_links = {{.latency = 0.5, .bandwidth = 10}};
  // Two chunks a rank, down and up: 0, 1, 1, 0. Within a rank nothing is sent.
  const auto traffic = traffic_of(cluster, {.devices = {{0, 2}, {1, 3}},
                                            .chunk_rank = {0, 1, 1, 0},
                                            .bytes = {{30, 7, 20, 0}, {3, 7, 2, 0}},
                                            .messages = 3,
                                            .gradients = {100, 0, 0, 60}});
  const auto link = [&](int from, int to) {
    for (const TrafficView& one : traffic)
      if (one.from == from && one.to == to) return one;
    return TrafficView{.from = -1};
  };
  EXPECT_EQ(link(0, 1).pipeline, 50);
  EXPECT_EQ(link(1, 0).pipeline, 50);
  EXPECT_EQ(link(2, 3).pipeline, 5);
  EXPECT_EQ(link(0, 2).reduction, 160);  // a ring of two passes all of it on, in two messages
  EXPECT_EQ(link(0, 3).from, -1);
  EXPECT_DOUBLE_EQ(link(0, 1).seconds, 6 * 0.5 + 5);
  EXPECT_GE(traffic.front().seconds, traffic.back().seconds);
}

TEST(PlanView, HeadlineNamesSpeedMemoryAndWhy) {
  const double none = std::numeric_limits<double>::infinity();
  PlanView view;
  view.stages = {{.memory = {{"weights", 3 << 20}}, .limit = 4 << 20},
                 {.memory = {{"weights", 5 << 20}}, .limit = 100 << 20}};
  view.step_seconds = 0.0014912;
  view.speed = 42840.3;
  view.binds = "the computation of stage 0";
  EXPECT_EQ(
      headline_of(view),
      "It trains 42,840 s of audio a second; stage 0 is the fullest, with 3 MiB of 4 MiB. What "
      "binds: the computation of stage 0.");
  for (StageView& stage : view.stages) stage.limit = none;
  view.speed = 0;
  view.binds.clear();
  EXPECT_EQ(headline_of(view), "A step takes 1.491 ms; stage 1 is the fullest, with 5 MiB.");
}

TEST(PlanView, MemoryBeginsWithTheStep) {
  std::vector<MemoryPoint> late{{2, 10}, {3, 0}}, at_once{{0, 10}};
  add_always(late, 5);
  add_always(at_once, 5);
  ASSERT_EQ(late.size(), 3u);
  EXPECT_EQ(late[0].time, 0);
  EXPECT_EQ(late[0].bytes, 5);
  EXPECT_EQ(late[1].bytes, 15);
  ASSERT_EQ(at_once.size(), 1u);
  EXPECT_EQ(at_once[0].bytes, 15);
}

TEST(Abridge, NamesLayersShortly) {
  EXPECT_EQ(layer_names("conv1", "conv1", 1), "conv1");
  EXPECT_EQ(layer_names("conv1", "rnn2", 5), "conv1 to rnn2 (5)");
  EXPECT_EQ(layer_names("Linear(in_features=1024, out_features=32320)", "", 1),
            "Linear(in_features=1024, ...");
}

TEST(Abridge, LeavesOutWhatNobodyCouldRead) {
  EXPECT_TRUE(has_room_for(2, 1000));
  EXPECT_FALSE(has_room_for(1 << 20, 1 << 20));
}

}  // namespace
}  // namespace penstock::partition
