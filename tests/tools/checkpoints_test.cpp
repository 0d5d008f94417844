#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class Checkpoints : public testing::Test {
 protected:
  /// Trains without any checkpoint but those that `overrides` ask for, and the last.
  void train(std::vector<std::string> overrides, test::Ranks ranks = {}) const {
    overrides.insert(overrides.begin(), {"trainer.checkpoint_every=1000", "trainer.keep=1"});
    const auto outcome = folder_.train("output", overrides, ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  std::set<std::int64_t> stored() const {
    std::set<std::int64_t> steps;
    for (const runtime::StoredCheckpoint& checkpoint :
         runtime::list_checkpoints(folder_.in("output")))
      steps.insert(checkpoint.step);
    return steps;
  }
  /// Word error rates of the validations, by step.
  std::map<std::int64_t, double> validations() const {
    std::map<std::int64_t, double> rates;
    std::ifstream metrics(folder_.in("output/metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const auto object = nlohmann::json::parse(line);
      if (object.contains("validation_wer")) rates[object["step"]] = object["validation_wer"];
    }
    return rates;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Checkpoints, TheBestStaysAndIsMarked) {
  train({"trainer.steps=24", "trainer.validate_every=4", "trainer.checkpoint_every=2"});
  const auto rates = validations();
  EXPECT_EQ(rates.size(), 6u);
  // The first of equals: a later one must be better to take its place.
  const auto best = std::ranges::min_element(rates, {}, [](const auto& v) { return v.second; });
  const auto marked = runtime::best_checkpoint(folder_.in("output"));
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->step, best->first);
  EXPECT_EQ(marked->value, best->second);
  EXPECT_EQ(marked->metric, "wer");
  EXPECT_EQ(stored(), (std::set<std::int64_t>{best->first, 24}));

  const auto of_best =
      folder_.run({"evaluate", folder_.in("output/" + runtime::checkpoint_name(marked->step)),
                   folder_.in("validation.jsonl"), "--json"});
  ASSERT_EQ(of_best.code, 0) << of_best.err;
  EXPECT_EQ(nlohmann::json::parse(of_best.out)["wer"], best->second);
}

TEST_F(Checkpoints, GoBySecondsIfAsked) {
  const std::vector<std::string> recipe = {"trainer.validate_every=-1", "trainer.steps=3",
                                           "trainer.keep=9", "pipeline.stages=2"};
  train({recipe[0], recipe[1], recipe[2], recipe[3], "trainer.checkpoint_seconds=1e-9"}, {2});
  EXPECT_TRUE(stored().contains(1));  // step 2 comes while that is still being written, or not
  EXPECT_TRUE(stored().contains(3));
  std::filesystem::remove_all(folder_.in("output"));
  train({recipe[0], recipe[1], recipe[2], recipe[3], "trainer.checkpoint_seconds=3600"}, {2});
  EXPECT_EQ(stored(), std::set<std::int64_t>{3});
}

}  // namespace
}  // namespace penstock::tools
