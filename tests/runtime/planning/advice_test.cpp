#include "runtime/planning/advice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/quantities.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/planner/cluster/cluster_file.h"
#include "runtime/planning/plan.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr AdviceTime kAmple{.seconds = 1e9};  // whatever the machine's pace

/// Two devices of 32 GiB, and a plan for them that trains 100 s of audio a second.
class AdviceOnPlan : public testing::Test {
 protected:
  AdviceOnPlan() {
    cluster_.nodes = {"node"};
    cluster_.devices.resize(2, {.kind = "gpu", .memory = 32 * kGib});
    cluster_.node_links = {{.latency = 1, .bandwidth = 500}};
    planned_.problem.cluster = cluster_;
    partition::CandidateResult& best = planned_.best_plan.results.emplace_back();
    best.candidate = {.stages = 2, .devices = {{0}, {1}}};
    best.estimate = {.step_seconds = 1, .audio_seconds = 100, .busy = {1, 1}};
  }

  /// Adds a candidate that would be faster, but lacks so much memory.
  void lack(double gib) {
    planned_.best_plan.results.push_back({.candidate = planned_.best_plan.candidate(),
                                          .lacks = partition::LackingMemory{0, gib * kGib},
                                          .speed_with_memory = 120});
  }

  std::vector<Advice> advise(const PlanAgain& plan, const AdviceTime& time = kAmple) const {
    return runtime::advise({recipe_, cluster_, planned_, free_batch_}, plan, time);
  }
  /// Returns the advice on memory, which gains 10 s of audio a second from `enough_gib` on, be it
  /// on the first device or by the recipe's key.
  std::string of_memory(double enough_gib) const {
    const auto advice = advise([&](const auto& recipe, const auto& cluster) {
      const double key = recipe.pipeline.memory_gib, device = cluster.devices[0].memory / kGib;
      return std::optional((key > 0 ? key : device) > enough_gib - 1e-9 ? 110.0 : 100.0);
    });
    const auto one = std::ranges::find_if(advice, [](const Advice& any) {
      return any.change.find("GiB more on every device") != std::string::npos;
    });
    return one == advice.end() ? "" : sentence_of(*one, 100);
  }

  configs::Config recipe_;
  partition::Cluster cluster_;
  ClusterPlan planned_;
  bool free_batch_ = false;
};

TEST_F(AdviceOnPlan, FindsTheLeastMemoryThatPays) {
  lack(1);
  lack(7);
  EXPECT_EQ(of_memory(33), "With 1 GiB more on every device: 110 s of audio a second, 10 % more.");
  EXPECT_EQ(of_memory(36), "With 4 GiB more on every device: 110 s of audio a second, 10 % more.");
  EXPECT_EQ(of_memory(35), "With 3 GiB more on every device: 110 s of audio a second, 10 % more.");
  EXPECT_EQ(of_memory(34.2),
            "With 2.3 GiB more on every device: 110 s of audio a second, 10 % more.");
}

TEST_F(AdviceOnPlan, NamesTheKeyThatGivesMemory) {
  recipe_.pipeline.memory_gib = 8;
  lack(3);
  EXPECT_EQ(of_memory(11),
            "With 3 GiB more on every device (pipeline.memory_gib=11): 110 s of audio a second, 10 "
            "% more.");
}

TEST_F(AdviceOnPlan, NamesAllMemoryThatBroughtNothing) {
  lack(1);
  EXPECT_EQ(of_memory(99), "With 1, 2, 4 or 8 GiB more on every device: no faster.");
  recipe_.pipeline.memory_gib = 29;  // the devices have no more than 32
  EXPECT_EQ(of_memory(99), "With 1, 2 or 3 GiB more on every device: no faster.");
}

TEST_F(AdviceOnPlan, AddsMemoryOfWhichPlansUseAShare) {
  cluster_.margin = 0.375;
  lack(2.5);
  EXPECT_EQ(of_memory(36), "With 4 GiB more on every device: 110 s of audio a second, 10 % more.");
}

TEST_F(AdviceOnPlan, AddsAQuarterWhereMemoryShapesThePlan) {
  EXPECT_EQ(of_memory(40), "");
  planned_.best_plan.results.front().memory_bound = true;
  EXPECT_EQ(of_memory(40), "With 8 GiB more on every device: 110 s of audio a second, 10 % more.");
}

TEST_F(AdviceOnPlan, AddsAQuarterWherePlansLackIt) {
  lack(1);
  planned_.best_plan.results.back().speed_with_memory = 99;
  EXPECT_EQ(of_memory(40), "With 8 GiB more on every device: 110 s of audio a second, 10 % more.");
}

TEST_F(AdviceOnPlan, AsksForNoMemoryWithoutLimitOrChoice) {
  lack(1);
  ASSERT_NE(of_memory(33), "");
  planned_.problem.constraints.recomputed = partition::ChosenLayers();
  EXPECT_EQ(of_memory(33), "");
  planned_.problem.constraints.recomputed.reset();
  for (partition::Device& device : planned_.problem.cluster.devices)
    device.memory = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of_memory(33), "");
}

TEST_F(AdviceOnPlan, NamesTheKeysOfTwiceTheAudio) {
  const auto change = [&](const std::string& keys) {
    const auto advice = advise([](const auto& recipe, const auto&) {
      return std::optional(recipe.data.micro_batches + recipe.data.batch_seconds);
    });
    return std::ranges::count(advice, "with " + keys + ", twice the audio a step", &Advice::change);
  };
  recipe_.data.micro_batch_seconds = 32;
  recipe_.data.micro_batches = 4;
  EXPECT_EQ(change("data.micro_batches=8"), 1);
  recipe_.data.batch_seconds = 128;
  EXPECT_EQ(change("data.micro_batches=8 data.batch_seconds=256"), 1);
  free_batch_ = true;
  EXPECT_EQ(change("data.batch_seconds=256"), 1);
  planned_.problem.constraints.keeps_order = true;
  EXPECT_EQ(change("data.batch_seconds=256"), 0);
}

TEST_F(AdviceOnPlan, PlansNothingThatItHasNoTimeFor) {
  lack(1);
  EXPECT_TRUE(advise(
                  [](const auto&, const auto&) -> std::optional<double> {
                    ADD_FAILURE() << "planned again";
                    return 1;
                  },
                  {.seconds = 3, .plan_took = 4})
                  .empty());
}

TEST_F(AdviceOnPlan, LeavesOutWhatHasNoPlan) {
  lack(1);
  EXPECT_TRUE(advise([](const auto&, const auto&) { return std::optional<double>(); }).empty());
}

TEST_F(AdviceOnPlan, IsASentence) {
  EXPECT_EQ(sentence_of({"with links twice as fast", 2310}, 2200),
            "With links twice as fast: 2,310 s of audio a second, 5 % more.");
  EXPECT_EQ(sentence_of({"with links twice as fast", 2200.5}, 2200),
            "With links twice as fast: no faster.");
  EXPECT_EQ(sentence_of({"with links twice as fast", 1760}, 2200),
            "With links twice as fast: 1,760 s of audio a second, 20 % less.");
}

/// A small recipe on two devices that a slow link joins.
class AdviceFromPlans : public testing::Test {
 protected:
  AdviceFromPlans() { test::write_tone_corpus(in("train.jsonl"), 13, 1); }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  configs::Config recipe(const std::vector<std::string>& overrides = {}) const {
    return configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")),
                                 "recipe.toml", layers::model_families(), overrides);
  }
  static partition::Cluster two(const std::string& latency, const std::string& gb) {
    return partition::parse_cluster(
        "[kinds.a]\nmemory_gib = 4\nspeed = 1\n[[node]]\nname = \"n\"\ndevices = { a = 2 }\n"
        "within = { latency_us = " +
            latency + ", gb_per_s = " + gb + " }\n",
        "two.toml");
  }

  test::TemporaryFolder folder_;
  const ClusterConstraints constraints_{.stages = 2, .replicas = 1, .schedule = "1f1b"};
};

TEST_F(AdviceFromPlans, AreThoseOfPlansWithTheChange) {
  const auto speed = [&](const configs::Config& config, const partition::Cluster& cluster) {
    return plan_for_cluster(config, cluster, constraints_).best_plan.estimate().speed();
  };
  const configs::Config config = recipe();
  const partition::Cluster slow = two("400", "0.5");
  const ClusterPlan planned = plan_for_cluster(config, slow, constraints_);
  const auto advice = advise({config, slow, planned}, plan_again(constraints_), kAmple);
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_GE(advice[0].speed, advice[1].speed);
  const int twice = 2 * config.data.micro_batches;
  const std::string key = fmt::format("data.micro_batches={}", twice);
  for (const Advice& one : advice)
    if (one.change == "with links twice as fast")
      EXPECT_EQ(one.speed, speed(config, two("200", "1")));
    else if (one.change == "with " + key + ", twice the audio a step")
      EXPECT_EQ(one.speed, speed(recipe({key}), slow));
    else
      ADD_FAILURE() << one.change;
  EXPECT_GT(speed(config, two("200", "1")), planned.best_plan.estimate().speed());
}

TEST_F(AdviceFromPlans, SayNothingOnceTheTimeIsOver) {
  int asked = 0, max = 1 << 30;  // how often the time is asked for before it is over
  const TimeLimit limit(10, [&] { return ++asked > max ? 11.0 : 0.0; });
  ClusterConstraints limited = constraints_;
  limited.time = &limit;
  limited.threads = 1;
  const PlanAgain plan = plan_again(limited);
  EXPECT_TRUE(plan(recipe(), two("1", "1")));
  for (const int during : {1, 0}) {  // the plan, or before
    asked = 0;
    max = during;
    EXPECT_FALSE(plan(recipe(), two("1", "1"))) << during;
  }
  EXPECT_FALSE(limit.ended_a_search());  // the plan's
}

}  // namespace
}  // namespace penstock::runtime
