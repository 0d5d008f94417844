#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class Divergence : public testing::Test {
 protected:
  /// Trains with a learning rate that no model survives.
  test::Outcome train(std::vector<std::string> overrides, test::Ranks ranks = {}) const {
    overrides.push_back("optimizer.learning_rate=1e30");
    overrides.push_back("data.validation=");
    return folder_.train("output", overrides, ranks);
  }
  void expect_diverged(const test::Outcome& outcome, const std::string& steps) const {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("penstock: training diverged: no gradient of the " + steps),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
  }
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Divergence, EndsTheRunAndIsSaidOnce) {
  expect_diverged(train({"trainer.max_skipped=3", "pipeline.stages=2"}, {2}),
                  "last 4 steps (2 to 5)");
  std::ifstream metrics(folder_.in("output/metrics.jsonl"));
  int skipped = 0;
  for (std::string line; std::getline(metrics, line);) {
    const auto object = nlohmann::json::parse(line);
    EXPECT_EQ(object["loss"].is_null(), object.contains("skipped")) << line;
    skipped += object.contains("skipped");
  }
  EXPECT_EQ(skipped, 4);
}

TEST_F(Divergence, FailsARunThatStopsInIt) {
  expect_diverged(train({"trainer.steps=4", "--json"}), "last 3 steps (2 to 4)");
}

TEST_F(Divergence, LeavesTheCheckpointFromBefore) {
  expect_diverged(
      train({"trainer.max_skipped=1", "trainer.checkpoint_every=1", "model.hidden=300"}),
      "last 2 steps (2 to 3)");
  EXPECT_TRUE(std::filesystem::exists(folder_.in("output/checkpoint-000000001/manifest.json")));
}

TEST_F(Divergence, IsNeverTheBest) {
  const auto outcome = folder_.train(
      "output", {"optimizer.learning_rate=1e30", "trainer.steps=2", "trainer.validate_every=2"});
  EXPECT_NE(outcome.err.find("validation loss"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.in("output/BEST")));
}

}  // namespace
}  // namespace penstock::tools
