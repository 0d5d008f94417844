#include "partition/planner/choose/explain.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

Candidate simulated(double step, std::vector<double> busy) {
  Candidate candidate{.choice = {.stages = static_cast<int>(busy.size())}};
  candidate.estimate = ChoiceEstimate{.step_seconds = step, .audio_seconds = 60, .busy = busy};
  candidate.closed_form = step;
  candidate.audio_seconds = 60;
  return candidate;
}

TEST(Reasons, CompareSecondsOfAudio) {
  const Candidate best = simulated(10, {9, 6}), other = simulated(12, {6, 6});
  EXPECT_DOUBLE_EQ(seconds_per_audio_second(best), 1.0 / 6);
  EXPECT_EQ(why_slower(best, other), "20.0 % slower: stages idle 50 %");
  EXPECT_EQ(why_slower(best, best), "as fast: the first found is kept");
  EXPECT_EQ(why_slower(other, best), "16.7 % faster, but 1f1b is requested");
  Candidate longer = simulated(24, {12, 12});
  longer.estimate->audio_seconds = 120;
  EXPECT_EQ(why_slower(best, longer), why_slower(best, other));
  EXPECT_DOUBLE_EQ(longer.step_seconds(60), 12);
}

TEST(Reasons, NamesMemoryOnlyWhereMoreWouldBeFaster) {
  const Candidate best = simulated(10, {9, 6});
  EXPECT_EQ(bottleneck_of(best, {best}),
            "the computation of stage 0, which is busy 90 % of a step");
  Candidate tight{.choice = {.stages = 3}, .closed_form = 8, .audio_seconds = 60};
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
    decision_ = decide(problem_);
  }

  /// Every cost multiplied.
  Assumption slower(double factor) const {
    return {.what = "all takes longer",
            .costs = [costs = problem_.training.costs, factor](const MicroBatchLengths& lengths) {
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
  Decision decision_;
};

TEST_F(Sensitive, AStepIsThatOfTheAssumedCosts) {
  const double as_planned = step_under(problem_, decision_, {.what = "nothing changes"});
  Workloads workloads(problem_);
  const PlanChoice& choice = decision_.choice;
  EXPECT_EQ(
      as_planned,
      estimate_choice(problem_, workloads.of(choice.batch, choice.replicas), choice).step_seconds);
  EXPECT_NEAR(as_planned, decision_.estimate.step_seconds, 1e-9 * as_planned);
  EXPECT_NEAR(step_under(problem_, decision_, slower(3)), 3 * as_planned, 0.01 * as_planned);
}

TEST_F(Sensitive, DevicesMayBeFasterThanPlanned) {
  const double as_planned = step_under(problem_, decision_, {.what = "nothing changes"});
  const auto with_speeds = [&](std::vector<double> speeds) {
    return step_under(problem_, decision_, {.what = "speeds", .speeds = std::move(speeds)});
  };
  EXPECT_NEAR(with_speeds({2, 2, 2}), as_planned / 2, 0.01 * as_planned);
  const int used = decision_.choice.devices.back().back();
  std::vector<double> one_is_slow(3, 1.0);
  one_is_slow[used] = 0.1;
  EXPECT_GT(with_speeds(one_is_slow), 2 * as_planned);
}

TEST_F(Sensitive, NamesWhatBecomesBetter) {
  ASSERT_GT(decision_.choice.slots(), 1);
  const Assumption slow_messages{.what = "messages crawl", .message_factor = 1e15};
  const Sensitivity found =
      sensitivity_of(problem_, decision_, {slower(1.2), slow_messages, slower(1 / 1.2)});
  EXPECT_GT(found.compared, 1);
  EXPECT_EQ(found.assumptions,
            (std::vector<std::string>{"all takes longer", "messages crawl", "all takes longer"}));
  ASSERT_EQ(found.others.size(), 1u);
  EXPECT_EQ(found.others[0].assumption, "messages crawl");
  EXPECT_GT(found.others[0].gain, kSameStep);
  const PlanChoice& other = found.others[0].choice;
  EXPECT_NE(
      std::tuple(other.stages, other.replicas, other.schedule),
      std::tuple(decision_.choice.stages, decision_.choice.replicas, decision_.choice.schedule));
}

}  // namespace

}  // namespace penstock::partition
