#include "partition/planner/simulate/network.h"

#include <gtest/gtest.h>

#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// When the last forward of three chunks ends: forwards take a second, messages `bytes`.
double forwards(const Network& network, int micro_batches) {
  const Durations durations{.compute = [](const Action&) { return 1.0; }, .network = &network};
  return simulate(forward_only({0, 1, 2}, micro_batches), durations).makespan;
}

TEST(Network, AMessageAloneTakesLatencyAndBytes) {
  Network network{.links = {{.latency = 0.5, .bandwidth = 10}, {.latency = 0.25, .bandwidth = 5}},
                  .route = [](int from, int) { return std::vector<int>{from}; },
                  .bytes = [](const Edge&, int) { return 20.0; }};
  EXPECT_DOUBLE_EQ(forwards(network, 1), 1 + (0.5 + 2) + 1 + (0.25 + 4) + 1);
  // Over both links the narrower one counts, and the sum of latencies.
  network.route = [](int, int) { return std::vector<int>{0, 1}; };
  EXPECT_DOUBLE_EQ(forwards(network, 1), 1 + (0.75 + 4) + 1 + (0.75 + 4) + 1);
  network.route = [](int, int) { return std::vector<int>{1, 0}; };
  EXPECT_DOUBLE_EQ(forwards(network, 1), 1 + (0.75 + 4) + 1 + (0.75 + 4) + 1);
}

TEST(Network, MessagesOnALinkShareItEvenly) {
  // Both ranks send at 1: one 12 bytes, one 4, at 2 bytes a second over one link. Until the
  // shorter is through, at 1 + 4 / 1 = 5, each has half; then 8 bytes are left for 4 seconds.
  const Network network{
      .links = {{.latency = 0, .bandwidth = 2}},
      .route = [](int, int) { return std::vector<int>{0}; },
      .bytes = [](const Edge& edge, int) { return edge.producer == 0 ? 12.0 : 4.0; }};
  Schedule schedule{
      .name = "two pairs", .micro_batches = 2, .forward_only = true, .chunk_rank = {0, 1, 2}};
  schedule.ranks = {{{ActionKind::forward, 0, 0}, {ActionKind::send_activation, 0, 0}},
                    {{ActionKind::forward, 1, 1},
                     {ActionKind::send_activation, 1, 1},
                     {ActionKind::receive_activation, 1, 0},
                     {ActionKind::forward, 1, 0}},
                    {{ActionKind::receive_activation, 2, 1}, {ActionKind::forward, 2, 1}}};
  // Nothing brings chunk 1 its micro-batch 1, so its forward is called one of chunk 0. Only times
  // matter here.
  schedule.ranks[1].front().chunk = 0;
  const Durations durations{.compute = [](const Action&) { return 1.0; }, .network = &network};
  const Simulation run = simulate(schedule, durations);
  EXPECT_DOUBLE_EQ(run.ranks[2].back().start, 5);
  EXPECT_DOUBLE_EQ(run.ranks[1].back().start, 9);
}

TEST(Network, ASenderWaitsForWhatIsNotOverlapped) {
  Network network{.links = {{.latency = 0, .bandwidth = 1}},
                  .route = [](int, int) { return std::vector<int>{0}; },
                  .bytes = [](const Edge&, int) { return 2.0; }};
  const auto first_rank_ends = [&] {
    const Durations durations{.compute = [](const Action&) { return 1.0; }, .network = &network};
    return simulate(forward_only({0, 1}, 2), durations).ranks[0].back().end;
  };
  EXPECT_DOUBLE_EQ(first_rank_ends(), 2);
  network.overlap = 0.25;
  EXPECT_DOUBLE_EQ(first_rank_ends(), 1 + 0.75 * 2 + 1);
  network.links = {{.latency = 0.5, .bandwidth = 4}, {.latency = 0.25, .bandwidth = 1}};
  network.route = [](int, int) { return std::vector<int>{0, 1}; };
  EXPECT_DOUBLE_EQ(first_rank_ends(), 1 + 0.75 * (0.75 + 2) + 1);
}

}  // namespace
}  // namespace penstock::partition
