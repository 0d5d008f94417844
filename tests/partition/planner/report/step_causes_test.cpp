#include "partition/planner/report/step_causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Messages take so long; a reduction and a step as well.
Simulation run(const Schedule& schedule, const std::vector<ChunkTimes>& chunks, double message,
               double reduce, double step) {
  Durations durations = equal_micro_batches(chunks);
  durations.compute = [of_pass = durations.compute, reduce](const Action& action) {
    return action.kind == ActionKind::reduce ? reduce : of_pass(action);
  };
  durations.step = [step](int) { return step; };
  durations.transfer = [message](const Edge&, int) { return message; };
  return simulate(schedule, durations);
}

TEST(StepCauses, OfTwoStages) {
  // rank 0: F0 0–2, F1 2–4, G0 9–13, G1 18–22; rank 1: F0 3–4, G0 4–8, F1 8–9, G1 9–13. Messages
  // take 1 s, then a reduction 3 s and the optimizer 2 s.
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const Simulation step = run(schedule, {{2, 2, 2}, {1, 2, 2}}, 1, 3, 2);
  const auto causes = idle_causes(step, schedule.chunk_rank);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_DOUBLE_EQ(causes[0].fill, 0);
  EXPECT_DOUBLE_EQ(causes[0].wait, 4);     // for rank 1's G0, until 8
  EXPECT_DOUBLE_EQ(causes[0].message, 2);  // of both gradients
  EXPECT_DOUBLE_EQ(causes[0].reduction, 3);
  EXPECT_DOUBLE_EQ(causes[0].drain, 0);
  EXPECT_DOUBLE_EQ(causes[1].fill, 3);
  EXPECT_DOUBLE_EQ(causes[1].wait, 0);
  EXPECT_DOUBLE_EQ(causes[1].message, 0);
  EXPECT_DOUBLE_EQ(causes[1].reduction, 3);
  EXPECT_DOUBLE_EQ(causes[1].drain, 5);
}

TEST(StepCauses, AddUpWithComputingToTheStep) {
  for (const std::string_view name : schedule_names()) {
    const Schedule schedule = make_schedule(name, 3, 6);
    std::vector<ChunkTimes> chunks;
    for (int c = 0; c < schedule.chunks(); ++c) chunks.push_back({1.0 + c, 2.5, 0.5 * c});
    const Simulation step = run(schedule, chunks, 0.3, 1.7, 0.9);
    const auto causes = idle_causes(step, schedule.chunk_rank);
    double end = 0;
    for (const auto& rank : step.ranks)
      for (const TimedAction& timed : rank) end = std::max(end, timed.end);
    for (std::size_t rank = 0; rank < causes.size(); ++rank) {
      double busy = 0.9;  // the optimizer
      for (const TimedAction& timed : step.ranks[rank])
        if (computes(timed.action.kind)) busy += timed.end - timed.start;
      EXPECT_NEAR(causes[rank].sum() + busy, end, 1e-9 * end) << name << ", rank " << rank;
      EXPECT_GE(std::min({causes[rank].fill, causes[rank].wait, causes[rank].message,
                          causes[rank].reduction, causes[rank].drain}),
                -1e-9 * end)
          << name;
    }
  }
}

TEST(StepCauses, EachBlankHasItsOwn) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const Simulation step = run(schedule, {{2, 2, 2}, {1, 2, 2}}, 1, 3, 2);  // as above
  const auto list = blanks(step, schedule.chunk_rank);
  const auto text = [](const Blank& blank) {
    constexpr std::string_view names[] = {"fill", "wait", "message", "reduction", "drain"};
    return std::string(names[static_cast<int>(blank.cause)]) + " " +
           std::to_string(std::lround(blank.start)) + "–" + std::to_string(std::lround(blank.end)) +
           " for " + std::to_string(blank.rank);
  };
  std::vector<std::vector<std::string>> said;
  for (const auto& rank : list) {
    said.emplace_back();
    for (const Blank& blank : rank) said.back().push_back(text(blank));
  }
  EXPECT_EQ(said[0], (std::vector<std::string>{"wait 4–8 for 1", "message 8–9 for 1",
                                               "message 13–14 for 1", "reduction 18–21 for -1"}));
  EXPECT_EQ(said[1], (std::vector<std::string>{"fill 0–3 for 0", "reduction 13–16 for -1",
                                               "drain 16–21 for -1"}));
}

TEST(CriticalPath, GoesOverMessagesFromEndToBeginning) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const Simulation step = run(schedule, {{2, 2, 2}, {1, 2, 2}}, 1, 3, 2);
  std::vector<std::string> words;
  for (const ActionPlace& at : critical_path(step, schedule.chunk_rank)) {
    const TimedAction& timed = step.ranks[at.rank][at.place];
    words.push_back(std::to_string(at.rank) + " " + describe(timed.action));
  }
  ASSERT_EQ(words.size(), 8u);
  EXPECT_EQ(words[0], "0 forward of micro-batch 0 on chunk 0");
  EXPECT_EQ(words[1], "1 forward of micro-batch 0 on chunk 1");
  EXPECT_EQ(words[2], "1 backward of micro-batch 0 on chunk 1");
  EXPECT_EQ(words[3], "1 forward of micro-batch 1 on chunk 1");
  EXPECT_EQ(words[4], "1 backward of micro-batch 1 on chunk 1");
  EXPECT_EQ(words[5], "0 backward of micro-batch 1 on chunk 0");
  EXPECT_EQ(words[6].substr(0, 8), "0 reduce");
  EXPECT_EQ(words[7].substr(2, 4), "step");
}

TEST(CriticalPath, HasNoGapsButMessages) {
  for (const std::string_view name : schedule_names()) {
    const Schedule schedule = make_schedule(name, 3, 6);
    std::vector<ChunkTimes> chunks;
    for (int c = 0; c < schedule.chunks(); ++c) chunks.push_back({1.0 + c, 2.5, 0.25 * c + 0.5});
    const Simulation step = run(schedule, chunks, 0.3, 1.7, 0.9);
    const auto path = critical_path(step, schedule.chunk_rank);
    ASSERT_FALSE(path.empty()) << name;
    const auto at = [&](const ActionPlace& place) { return step.ranks[place.rank][place.place]; };
    EXPECT_EQ(at(path.front()).start, 0) << name;
    int messages = 0;
    for (std::size_t i = 1; i < path.size(); ++i) {
      const double gap = at(path[i]).start - at(path[i - 1]).end;
      if (gap > 0.1) ++messages;
      // A message takes 0.3 s from when it is sent, or from when its receive is posted.
      EXPECT_TRUE(std::abs(gap) < 1e-9 || gap > 0.3 - 1e-9) << name << ", action " << i;
      const bool crosses = path[i].rank != path[i - 1].rank;
      EXPECT_TRUE(gap > 0.1 || !crosses || !computes(at(path[i]).action.kind)) << name << ' ' << i;
    }
    EXPECT_GT(messages, 2) << name;
    double end = 0;
    for (const auto& rank : step.ranks)
      for (const TimedAction& timed : rank) end = std::max(end, timed.end);
    EXPECT_EQ(at(path.back()).end, end) << name;
  }
}

TEST(StepCauses, OfARankWithoutMicroBatches) {
  const Simulation step{.makespan = 3, .ranks = {{{{ActionKind::forward, 0, 0}, 0, 3}}, {}}};
  const auto causes = idle_causes(step, {0, 1});
  EXPECT_EQ(causes[1].drain, 3);
  EXPECT_EQ(critical_path(step, {0, 1}), (std::vector<ActionPlace>{{0, 0}}));
  EXPECT_TRUE(critical_path({}, {}).empty());
}

}  // namespace
}  // namespace penstock::partition
