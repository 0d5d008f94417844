#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class Search : public testing::Test {
 protected:
  Search() {
    // Both links of the second device are fast; the third link is not.
    std::ofstream(cluster_)
        << "[kinds.core]\nmemory_gib = 1\nspeed = 1\n[[node]]\nname = \"host\"\n"
           "devices = { core = 3 }\n[matrix]\nlatency_us = [[0, 9, 9], [9, 0, 9], [9, 9, 0]]\n"
           "gb_per_s = [[1, 1, 0.0001], [1, 1, 0.9], [0.0001, 0.9, 1]]\n";
  }

  test::Outcome search(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"search", folder_.in("recipe.toml"), "pipeline.stages=3",
                               "trainer.lanes=1", "--cluster", cluster_});
    return folder_.run(std::move(more), ranks);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::string cluster_ = folder_.in("cluster.toml");
};

TEST_F(Search, PutsTheMiddleStageWhereLinksAreFast) {
  const auto outcome = search({"--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(found["stages"], 3);
  const auto& candidates = found["candidates"];
  ASSERT_EQ(candidates.size(), 6u);
  EXPECT_EQ(candidates[0]["devices"][1], nlohmann::json({1}));
  EXPECT_EQ(candidates[1]["devices"][1], nlohmann::json({1}));
  for (std::size_t i = 1; i < candidates.size(); ++i)
    EXPECT_LE(candidates[i - 1]["predicted_s"], candidates[i]["predicted_s"]);
  EXPECT_FALSE(candidates[0].contains("measured_s"));
}

TEST_F(Search, MeasuresTheBestAndWritesTheFastest) {
  const std::string plan = folder_.in("plan.toml");
  const auto outcome =
      search({"--measure", "4", "--steps", "2", "--json", "-o", plan}, {.count = 3});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out);
  std::vector<double> measured;
  for (const auto& candidate : found["candidates"]) measured.push_back(candidate["measured_s"]);
  ASSERT_EQ(measured.size(), 4u);
  EXPECT_EQ(found["preferred_s"], measured.front());
  EXPECT_EQ(found["fastest_s"], std::ranges::min(measured));
  EXPECT_GT(found["fastest_s"], 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.in("output")));
  const auto trained = folder_.train(
      "trained",
      {"pipeline.plan=" + plan, "trainer.lanes=1", "trainer.steps=2", "trainer.validate_every=-1"},
      {.count = 3});
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(Search, TakesMeasuredCostsOfTheModelAlone) {
  const std::string costs = folder_.in("costs.json");
  ASSERT_EQ(folder_
                .run({"profile", folder_.in("recipe.toml"), "--micro-batches", "3", "--repeats",
                      "1", "-o", costs})
                .code,
            0);
  EXPECT_EQ(search({"--costs", costs}).code, 0);
  const auto other = search({"--costs", costs, "model.hidden=23"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("costs are of another model"), std::string::npos) << other.err;

  auto json = nlohmann::json::parse(test::read_file(costs));
  std::swap(json["layers"][0], json["layers"][1]);
  test::write_file(costs, json.dump());
  const auto turned = search({"--costs", costs});
  EXPECT_EQ(turned.code, 2);
  EXPECT_NE(turned.err.find("layers[0] of the costs is"), std::string::npos) << turned.err;
}

TEST_F(Search, ShowsNoEmptyColumnAndAnswers) {
  const auto outcome = search({});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("place  predicted"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("measured"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nPlace 1 is predicted to be fastest, by "), std::string::npos)
      << outcome.out;
  const auto alone = search({"--show", "1"});  // nothing to be faster than
  EXPECT_NE(alone.out.find("\nPlace 1 is predicted to be fastest.\n"), std::string::npos)
      << alone.out << alone.err;
}

TEST_F(Search, RejectsStepsWithoutMeasure) {
  const auto outcome = search({"--steps", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("search: --steps is for --measure: leave it out"), std::string::npos)
      << outcome.err;
}

TEST_F(Search, RejectsShowBesideMeasure) {
  const auto outcome = search({"--show", "3", "--measure", "2"}, {.count = 2});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("search: --show is for a search without --measure: leave it out"),
            std::string::npos)
      << outcome.err;
}

TEST_F(Search, WantsARankOnEveryDeviceToMeasure) {
  const auto outcome = search({"--measure", "2"}, {.count = 2});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("runs a rank on every device"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
