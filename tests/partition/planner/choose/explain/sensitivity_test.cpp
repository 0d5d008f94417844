#include "partition/planner/choose/explain/sensitivity.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

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
            .costs = [costs = problem_.costs, factor](const MicroBatchLengths& lengths) {
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
