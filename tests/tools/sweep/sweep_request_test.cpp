#include "tools/sweep/sweep_request.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

SweepRequest request_of(std::vector<std::string> words) {
  words.insert(words.begin(), {"model.base=ds2-tiny", "data.train=a.jsonl"});
  words.emplace_back("data.validation=b.jsonl");
  return {.recipe = {words}};
}

std::string fault_of(const SweepRequest& request) {
  return test::message_of<ConfigError>([&] { (void)check_sweep(request); });
}

TEST(SweepRequest, DividesAxesFromWhatAllShare) {
  const CheckedSweep sweep =
      check_sweep(request_of({"model.hidden=16,32", "trainer.steps=5", "trainer.seed=1,2"}));
  EXPECT_EQ(sweep.words, (std::vector<std::string>{"model.base=ds2-tiny", "data.train=a.jsonl",
                                                   "trainer.steps=5", "data.validation=b.jsonl"}));
  EXPECT_EQ(sweep.plan.points.size(), 4u);
  EXPECT_EQ(sweep.steps, (std::vector<std::int64_t>(4, 5)));
  EXPECT_EQ(sweep.plan.metric, "wer");
  EXPECT_EQ(sweep.plan.shared.at("trainer.steps"), "5");
  EXPECT_EQ(sweep.plan.shared.count("model.hidden"), 0u);
}

TEST(SweepRequest, StepsMayDiffer) {
  EXPECT_EQ(check_sweep(request_of({"trainer.steps=5,9"})).steps,
            (std::vector<std::int64_t>{5, 9}));
  SweepRequest halving = request_of({"trainer.steps=5,9"});
  halving.halving.factor = 2;
  EXPECT_EQ(fault_of(halving),
            "--halving compares runs of equal length: give trainer.steps one value");
}

TEST(SweepRequest, AMetricIsTheRunsToo) {
  SweepRequest request = request_of({"trainer.seed=1,2"});
  request.metric = "loss";
  const CheckedSweep sweep = check_sweep(request);
  EXPECT_EQ(sweep.plan.metric, "loss");
  EXPECT_EQ(sweep.words.back(), "trainer.best_metric=loss");
}

TEST(SweepRequest, FaultsOfARunNameIt) {
  EXPECT_EQ(fault_of(request_of({"model.hiden=16,32"})),
            "run 1 of 2, model.hiden=16: the configuration can't be used:\n  command line: unknown "
            "key model.hiden; did you mean model.hidden?");
  const std::string fault = fault_of(request_of({"trainer.seed=1,2", "model.hidden=16,0"}));
  EXPECT_EQ(fault.substr(0, 48), "run 2 of 4, trainer.seed=1 model.hidden=0: the c") << fault;
}

TEST(SweepRequest, NeedsSomethingToCompare) {
  EXPECT_NE(fault_of(request_of({})).find("there is nothing to sweep"), std::string::npos);
  SweepRequest none{.recipe = {{"data.train=a.jsonl", "trainer.seed=1,2"}}};
  EXPECT_NE(fault_of(none).find("set data.validation"), std::string::npos) << fault_of(none);
  EXPECT_NE(fault_of(request_of({"trainer.seed=1,2", "trainer.validate_every=-1"}))
                .find("trainer.validate_every is -1"),
            std::string::npos);
}

TEST(SweepRequest, KeysOfTheSweepAreRefused) {
  EXPECT_EQ(fault_of(request_of({"trainer.output=a,b"})),
            "trainer.output is the same for all runs of a sweep");
  EXPECT_EQ(fault_of(request_of({"trainer.seed=1,2", "trainer.seed=3,4"})),
            "trainer.seed is given twice");
  EXPECT_EQ(fault_of(request_of({"trainer.seed=1,2", "trainer.seed=3"})),
            "trainer.seed is given with one value and with several: leave trainer.seed=3 out");
  for (const std::string key : {"trainer.output", "trainer.resume"})
    EXPECT_EQ(fault_of(request_of({"trainer.seed=1,2", key + "=true"})),
              key + "=true: a sweep sets " + key +
                  " for each run: leave it out, and name the sweep's folder by --output");
  EXPECT_NE(fault_of(request_of({"trainer.seed=1,2", "trainer.mirror=s3://bucket/run"}))
                .find("trainer.mirror would take the checkpoints of all runs"),
            std::string::npos);
}

TEST(SweepRequest, HalvingNeedsNoPatience) {
  SweepRequest request = request_of({"trainer.seed=1,2,3,4", "trainer.early_stopping_patience=2"});
  EXPECT_NO_THROW((void)check_sweep(request));
  request.halving.factor = 2;
  EXPECT_NE(fault_of(request).find("set trainer.early_stopping_patience=0"), std::string::npos);
}

// Layers are shared keys of run 1 alone, if the base is swept.
TEST(SweepRequest, EachRunHasItsConfiguration) {
  const auto configurations = [](const std::vector<std::string>& words) {
    return check_sweep(request_of(words)).plan.configurations;
  };
  const auto before = configurations({"trainer.seed=1,2"});
  ASSERT_EQ(before.size(), 2u);
  EXPECT_NE(before[0], before[1]);
  EXPECT_EQ(configurations({"trainer.seed=1,2"}), before);
  EXPECT_EQ(configurations({"trainer.seed=2,1"})[0], before[1]);
  EXPECT_NE(configurations({"trainer.seed=1,2", "model.hidden=16"})[1], before[1]);
}

TEST(SweepRequest, StoredPointsAreCheckedLikeNewOnes) {
  SweepRequest request = request_of({"model.hidden=8..64"});
  request.runs = 2;
  SweepPlan saved = check_sweep(request).plan;
  request.runs = 3;
  saved.points[1] = {"17"};
  EXPECT_EQ(check_sweep(request, saved).plan.points[1], SweepPoint{"17"});
  EXPECT_NE(check_sweep(request, saved).plan.configurations[1], saved.configurations[1]);
  saved.points[1] = {"0"};
  const std::string fault =
      test::message_of<ConfigError>([&] { (void)check_sweep(request, saved); });
  EXPECT_EQ(fault.substr(0, 26), "run 2 of 3, model.hidden=0") << fault;
}

}  // namespace
}  // namespace penstock::tools
