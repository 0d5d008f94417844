#include "partition/planner/search/pattern_estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "partition/schedule/complete.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

TEST(PatternEstimator, MessagesTakeTheirTimeBothWays) {
  const ScheduleProblem problem{.chunk_rank = {0, 1, 2},
                                .times = {{{1, 2, 4}}, {{8, 16, 32}}, {{64, 128, 256}}},
                                .transfers = {1000, 5000, 0}};
  PatternEstimator estimator(problem);
  // The first rank's gradient comes last, and its weights after it.
  EXPECT_DOUBLE_EQ(estimator.makespan(one_by_one(problem)),
                   2 * (1000 + 5000) + 1 + 8 + 64 + 128 + 16 + 2 + 4);
  EXPECT_EQ(estimator.turns(), 9);
}

/// Whether receives are posted one pass ahead, because that can't hang.
bool posts_late(const Schedule& whole) {
  Schedule computation = whole;
  for (auto& list : computation.ranks)
    std::erase_if(
        list, [](const Action& action) { return is_send(action.kind) || is_receive(action.kind); });
  return with_transfers(computation).ranks == whole.ranks;
}

TEST(PatternEstimator, EqualsTheSimulator) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> seconds(0.1, 3);
  int late = 0;
  for (const std::string_view name : schedule_names())
    for (const double message : {0.0, 0.3, 3.0})
      for (const auto& [stages, batches] : {std::pair{1, 3}, {2, 5}, {3, 7}, {4, 8}}) {
        const Schedule schedule = make_schedule(name, stages, batches);
        ScheduleProblem problem{.chunk_rank = schedule.chunk_rank};
        for (int chunk = 0; chunk < problem.chunks(); ++chunk) {
          auto& times = problem.times.emplace_back();
          for (int batch = 0; batch < batches; ++batch)
            times.push_back({seconds(random), seconds(random), seconds(random)});
          problem.transfers.push_back(message * seconds(random));
        }
        Pattern pattern = pattern_of(schedule);
        std::ranges::shuffle(pattern.order, random);
        const Schedule split = unfold(pattern, problem.chunk_rank, "split");
        const double estimated = PatternEstimator(problem).makespan(pattern);
        const double simulated = simulate(split, problem.durations(pattern.order)).makespan;
        EXPECT_GE(estimated, simulated - 1e-9) << name << " " << stages << " " << message;
        if (message > 0 && !posts_late(split)) continue;
        ++late;
        EXPECT_NEAR(estimated, simulated, 1e-9) << name << " " << stages << " " << message;
      }
  EXPECT_GT(late, 80);
}

TEST(PatternEstimator, HoldsFromForwardToWeightGradient) {
  ScheduleProblem problem{.chunk_rank = {0},
                          .times = {{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}},
                          .held = {{3, 5, 4}},
                          .memory = 9};
  const auto estimate_of = [&](std::initializer_list<ActionKind> kinds) {
    Pattern pattern{.ranks = {{}}, .order = {0, 1, 2}};
    for (const ActionKind kind : kinds) pattern.ranks[0].push_back({kind, 0});
    return PatternEstimator(problem).makespan(pattern);
  };
  const auto F = ActionKind::forward, B = ActionKind::backward_input,
             W = ActionKind::backward_weight;
  EXPECT_DOUBLE_EQ(estimate_of({F, F, B, W, F, B, W, B, W}), 18);     // 3 + 5, then 5 + 4
  EXPECT_TRUE(std::isinf(estimate_of({F, F, B, F, W, B, W, B, W})));  // 3 + 5 + 4
  EXPECT_TRUE(
      std::isinf(estimate_of({F, B, W, B, F, W, F, B, W})));  // a gradient before its forward
}

}  // namespace
}  // namespace penstock::partition
