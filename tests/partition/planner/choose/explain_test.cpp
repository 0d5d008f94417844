#include "partition/planner/choose/explain.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

CandidateResult simulated(double step, std::vector<double> busy) {
  CandidateResult result{.candidate = {.stages = static_cast<int>(busy.size())}};
  result.estimate = CandidateEstimate{.step_seconds = step, .audio_seconds = 60, .busy = busy};
  result.closed_form = step;
  result.audio_seconds = 60;
  return result;
}

TEST(Reasons, CompareSecondsOfAudio) {
  const CandidateResult best = simulated(10, {9, 6}), other = simulated(12, {6, 6});
  EXPECT_DOUBLE_EQ(seconds_per_audio_second(best), 1.0 / 6);
  EXPECT_EQ(why_slower(best, other), "20.0 % slower: stages idle 50 %");
  EXPECT_EQ(why_slower(best, best), "as fast: the first found is kept");
  EXPECT_EQ(why_slower(other, best), "16.7 % faster, but 1f1b is requested");
  CandidateResult longer = simulated(24, {12, 12});
  longer.estimate->audio_seconds = 120;
  EXPECT_EQ(why_slower(best, longer), why_slower(best, other));
  EXPECT_DOUBLE_EQ(longer.step_seconds(60), 12);
}

TEST(Reasons, NamesMemoryOnlyWhereMoreWouldBeFaster) {
  const CandidateResult best = simulated(10, {9, 6});
  EXPECT_EQ(bottleneck_of(best, {best}),
            "the computation of stage 0, which is busy 90 % of a step");
  CandidateResult tight{.candidate = {.stages = 3}, .closed_form = 8, .audio_seconds = 60};
  tight.speed_with_memory = 7;
  tight.why = "memory: stage 1 lacks 2 GiB";
  EXPECT_EQ(bottleneck_of(best, {best, tight}), bottleneck_of(best, {best}))
      << "words decide nothing";
  tight.lacks = LackingMemory{.stage = 1, .bytes = 2.0 * (1 << 30)};
  EXPECT_EQ(bottleneck_of(best, {best, tight}),
            "memory: 3 stages × 1 replica, 1f1b, 1 × 0 s would be faster, but its stage 1 lacks 2 "
            "GiB");
  tight.speed_with_memory = 6.02;  // the closed form, which is of 7.5, does not tell
  EXPECT_EQ(bottleneck_of(best, {best, tight}), bottleneck_of(best, {best}));
  EXPECT_FALSE(would_be_faster(tight, best));
}

class Sensitive : public testing::Test {
 protected:
  Sensitive() : sequence_(test::small_sequence()) {
    problem_ = test::planned_sequence(sequence_, 3, 1e9);
    problem_.cluster.node_links = {{.latency = 1e-9, .bandwidth = 1e12}};
    best_plan_ = find_best_plan(problem_);
  }

  /// Every cost multiplied.
  Assumption slower(double factor) const {
    return {.what = "all takes longer",
            .costs = [costs = problem_.model.costs, factor](const MicroBatchLengths& lengths) {
              auto all = costs(lengths);
              for (LayerCost& cost : all) {
                cost.forward *= factor;
                cost.backward_input *= factor;
                cost.backward_weight *= factor;
              }
              return all;
            }};
  }

  LayerSequence sequence_;
  PlanningProblem problem_;
  BestPlan best_plan_;
};

TEST_F(Sensitive, AStepIsThatOfTheAssumedCosts) {
  const double as_planned = step_under(problem_, best_plan_, {.what = "nothing changes"});
  Workloads workloads(problem_);
  const Candidate& candidate = best_plan_.candidate();
  EXPECT_EQ(as_planned, estimate_candidate(
                            problem_, workloads.of(candidate.batch, candidate.replicas), candidate)
                            .step_seconds);
  EXPECT_NEAR(as_planned, best_plan_.estimate().step_seconds, 1e-9 * as_planned);
  EXPECT_NEAR(step_under(problem_, best_plan_, slower(3)), 3 * as_planned, 0.01 * as_planned);
}

TEST_F(Sensitive, DevicesMayBeFasterThanPlanned) {
  const double as_planned = step_under(problem_, best_plan_, {.what = "nothing changes"});
  const auto with_speeds = [&](std::vector<double> speeds) {
    return step_under(problem_, best_plan_, {.what = "speeds", .speeds = std::move(speeds)});
  };
  EXPECT_NEAR(with_speeds({2, 2, 2}), as_planned / 2, 0.01 * as_planned);
  const int used = best_plan_.candidate().devices.back().back();
  std::vector<double> one_is_slow(3, 1.0);
  one_is_slow[used] = 0.1;
  EXPECT_GT(with_speeds(one_is_slow), 2 * as_planned);
}

TEST_F(Sensitive, NamesWhatBecomesBetter) {
  ASSERT_GT(best_plan_.candidate().slots(), 1);
  const Assumption slow_messages{.what = "messages crawl", .message_factor = 1e15};
  const Sensitivity found =
      sensitivity_of(problem_, best_plan_, {slower(1.2), slow_messages, slower(1 / 1.2)});
  EXPECT_GT(found.compared, 1);
  EXPECT_EQ(found.assumptions,
            (std::vector<std::string>{"all takes longer", "messages crawl", "all takes longer"}));
  ASSERT_EQ(found.others.size(), 1u);
  EXPECT_EQ(found.others[0].assumption, "messages crawl");
  EXPECT_GT(found.others[0].gain, kSameStep);
  const Candidate& other = found.others[0].candidate;
  EXPECT_NE(std::tuple(other.stages, other.replicas, other.schedule),
            std::tuple(best_plan_.candidate().stages, best_plan_.candidate().replicas,
                       best_plan_.candidate().schedule));
}

}  // namespace

}  // namespace penstock::partition
