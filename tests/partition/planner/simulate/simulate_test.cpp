#include "partition/planner/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

double makespan(int stages, int micro_batches) {
  const std::vector<ChunkTimes> equal(stages, {1, 1, 1});
  return simulate(make_schedule("1f1b", stages, micro_batches), equal_micro_batches(equal))
      .makespan;
}

TEST(Simulate, AgreesWithPublishedMakespans) {
  EXPECT_DOUBLE_EQ(makespan(4, 8), 33);
  EXPECT_DOUBLE_EQ(makespan(4, 16), 57);
  EXPECT_DOUBLE_EQ(makespan(8, 32), 117);
}

TEST(Simulate, GPipeTakesFillAndDrain) {
  const std::vector<ChunkTimes> equal(3, {1, 2, 0.5});
  const auto gpipe = simulate(make_schedule("gpipe", 3, 5), equal_micro_batches(equal));
  EXPECT_DOUBLE_EQ(gpipe.makespan, (3 - 1 + 5) * 3.5);
}

TEST(Simulate, MessagesTakeTimeAndStepsWaitForAll) {
  // One micro-batch: F0, message, F1, B1, message, B0, step.
  const Durations durations{
      .compute = [](const Action& a) { return a.kind == ActionKind::reduce ? 0.0 : 1.0 + a.chunk; },
      .transfer = [](const Edge& edge, int) { return edge.producer == 0 ? 10.0 : 100.0; }};
  const auto run = simulate(make_schedule("1f1b", 2, 1), durations);
  EXPECT_DOUBLE_EQ(run.makespan, 1 + 10 + 2 + 2 + 100 + 1 + 1);
  EXPECT_EQ(run.ranks[1].back().action.kind, ActionKind::step);
  EXPECT_DOUBLE_EQ(run.ranks[1].back().start, run.ranks[0].back().start);
}

/// Weight gradients take 1 and wait for nothing; reductions take 30 and 10 on the two chunks of
/// rank 0, 50 on the one of rank 1.
Simulation with_reductions(Barrier barrier) {
  using Kind = ActionKind;
  Schedule schedule{.name = "two and one", .micro_batches = 1, .chunk_rank = {0, 1, 0}};
  schedule.ranks = {{{Kind::backward_weight, 2, 0},
                     {Kind::reduce, 2},
                     {Kind::backward_weight, 0, 0},
                     {Kind::reduce, 0},
                     {Kind::step}},
                    {{Kind::backward_weight, 1, 0}, {Kind::reduce, 1}, {Kind::step}}};
  const Durations durations{.compute =
                                [](const Action& action) {
                                  if (action.kind != Kind::reduce) return 1.0;
                                  return action.chunk == 1 ? 50.0 : action.chunk == 2 ? 30.0 : 10.0;
                                },
                            .step = [](int) { return 2.0; }};
  return simulate(schedule, durations, barrier);
}

TEST(Simulate, ReductionsRunInOrderBesideComputing) {
  for (const Barrier barrier : {Barrier::before_step, Barrier::none}) {
    const Simulation run = with_reductions(barrier);
    const auto& first = run.ranks[0];
    EXPECT_DOUBLE_EQ(first[1].start, 1);
    EXPECT_DOUBLE_EQ(first[1].end, 31);
    EXPECT_DOUBLE_EQ(first[2].start, 1);   // computing goes on
    EXPECT_DOUBLE_EQ(first[3].start, 31);  // not at 2
    EXPECT_DOUBLE_EQ(first[3].end, 41);
  }
}

TEST(Simulate, StepsWaitForGradientsOrAtTheBarrier) {
  const Simulation together = with_reductions(Barrier::before_step);
  for (const auto& list : together.ranks) EXPECT_DOUBLE_EQ(list.back().start, 51);
  EXPECT_DOUBLE_EQ(together.makespan, 53);
  const Simulation alone = with_reductions(Barrier::none);
  EXPECT_DOUBLE_EQ(alone.ranks[0].back().start, 41);
  EXPECT_DOUBLE_EQ(alone.ranks[1].back().start, 51);
}

TEST(Simulate, AMessageWaitsForItsReceive) {
  // Rank 1 computes for 7 before it posts the receive; the message takes 3 then.
  using Kind = ActionKind;
  Schedule schedule{.name = "late", .micro_batches = 2, .forward_only = true, .chunk_rank = {0, 1}};
  schedule.ranks = {
      {{Kind::forward, 0, 0}, {Kind::send_activation, 0, 0}},
      {{Kind::backward_weight, 1, 1}, {Kind::receive_activation, 1, 0}, {Kind::forward, 1, 0}}};
  const Durations durations{
      .compute = [](const Action& a) { return a.kind == Kind::backward_weight ? 7.0 : 1.0; },
      .transfer = [](const Edge&, int) { return 3.0; }};
  EXPECT_DOUBLE_EQ(simulate(schedule, durations).ranks[1].back().start, 7 + 3);
}

// Ranks step for unequal times, so that the next step begins when each of them is ready.
TEST(StepPeriod, IsThatOfManyStepsBehindABarrier) {
  for (const char* name : {"1f1b", "zb-h2", "zb-v", "interleaved"}) {
    const Schedule once = make_schedule(name, 3, 5);
    Schedule many = once;
    for (auto& list : many.ranks) {
      const auto own = list;
      for (int step = 1; step < 5; ++step)
        for (Action action : own) {
          action.micro_batch += 5 * step;
          list.push_back(action);
        }
    }
    const Durations durations{.compute =
                                  [](const Action& a) {
                                    if (a.kind == ActionKind::reduce) return 4.0 - a.chunk % 3;
                                    return computes(a.kind) ? 1.0 + a.chunk + a.micro_batch % 5
                                                            : 0.0;
                                  },
                              .step = [](int rank) { return 7.0 - 3 * rank; },
                              .transfer = [](const Edge&, int m) { return 0.5 + m % 5; }};
    const Simulation simulated = simulate(many, durations);
    std::vector<double> ends(5, 0);
    for (const auto& list : simulated.ranks) {
      std::size_t step = 0;
      for (const TimedAction& timed : list)
        if (timed.action.kind == ActionKind::step) {
          ends[step] = std::max(ends[step], timed.end);
          ++step;
        }
    }
    const double period = step_period(once, durations, Barrier::before_step);
    for (int step = 1; step < 5; ++step)
      EXPECT_DOUBLE_EQ(period, ends[step] - ends[step - 1]) << name << step;
  }
}

TEST(SpeedupBound, IsWhatCutAndBubbleLeave) {
  // Two equal stages, 8 micro-batches: 8/9 of 2. Then a stage with twice the work of the other.
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("1f1b", 2, 8), {{1, 1, 1}, {1, 1, 1}}), 16.0 / 9);
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("1f1b", 1, 8), {{1, 1, 1}}), 1);
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("gpipe", 2, 4), {{2, 2, 2}, {1, 1, 1}}),
                   4 * 9.0 / (4 * 6 + 3));
}

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
