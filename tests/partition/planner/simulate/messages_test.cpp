#include "partition/planner/simulate/messages.h"

#include <gtest/gtest.h>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

TEST(SimulatedMessages, SayWhenTheyAreSentAndThere) {
  // Forwards of 1 on the first rank, of 4 on the second; a message of 2 seconds, of which its
  // sender waits for a half.
  const Network network{.links = {{.latency = 0.5, .bandwidth = 2}},
                        .route = [](int, int) { return std::vector<int>{0}; },
                        .bytes = [](const Edge&, int) { return 3.0; },
                        .overlap = 0.5};
  Schedule schedule{.name = "late", .micro_batches = 2, .forward_only = true, .chunk_rank = {0, 1}};
  using enum ActionKind;
  schedule.ranks = {
      {{forward, 0, 0}, {send_activation, 0, 0}, {forward, 0, 1}, {send_activation, 0, 1}},
      {{receive_activation, 1, 0}, {forward, 1, 0}, {receive_activation, 1, 1}, {forward, 1, 1}}};
  const Durations durations{.compute = [](const Action& action) { return 1.0 + 3 * action.chunk; },
                            .network = &network};
  const auto messages = simulated_messages(schedule, durations);
  ASSERT_EQ(messages.size(), 2u);
  const TimedMessage &first = messages[0], &second = messages[1];
  EXPECT_EQ(first.edge, (Edge{0, 1, Edge::Kind::activation}));
  EXPECT_EQ(first.from, 0);
  EXPECT_EQ(first.to, 1);
  EXPECT_DOUBLE_EQ(first.sent, 1);
  EXPECT_DOUBLE_EQ(first.freed, 2);
  EXPECT_DOUBLE_EQ(first.start, 1);
  EXPECT_DOUBLE_EQ(first.end, 3);
  EXPECT_EQ(second.micro_batch, 1);
  EXPECT_DOUBLE_EQ(second.sent, 3);
  EXPECT_DOUBLE_EQ(second.start, 7);  // its receive is posted after the forward
  EXPECT_DOUBLE_EQ(second.end, 9);
}

TEST(SimulatedMessages, EndBeforeThePassThatTakesThem) {
  for (const char* name : {"1f1b", "zb-h1", "interleaved", "zb-v"}) {
    const Schedule schedule = make_schedule(name, 3, 6);
    const Durations durations{
        .compute = [](const Action& action) { return computes(action.kind) ? 1.0 : 0.0; },
        .transfer = [](const Edge& edge, int batch) { return 0.25 + edge.producer + 0.1 * batch; }};
    const Simulation run = simulate(schedule, durations);
    std::size_t taken = 0;
    for (const TimedMessage& message : simulated_messages(schedule, durations)) {
      EXPECT_EQ(message.freed, message.sent);
      EXPECT_GE(message.start, message.sent);
      EXPECT_NEAR(message.end - message.start,
                  0.25 + message.edge.producer + 0.1 * message.micro_batch, 1e-12);
      for (const TimedAction& timed : run.ranks[message.to]) {
        const bool forward = timed.action.kind == ActionKind::forward;
        if (!computes(timed.action.kind) || timed.action.kind == ActionKind::backward_weight ||
            timed.action.chunk != message.edge.consumer ||
            timed.action.micro_batch != message.micro_batch ||
            forward != (message.edge.kind == Edge::Kind::activation))
          continue;
        EXPECT_GE(timed.start, message.end);
        ++taken;
      }
    }
    EXPECT_GT(taken, 0u) << name;
    EXPECT_EQ(taken, simulated_messages(schedule, durations).size()) << name;
  }
}

}  // namespace
}  // namespace penstock::partition
