#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cost/device_profile.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class ProfileCommand : public testing::Test {
 protected:
  test::Outcome profile(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), "profile");
    return folder_.run(std::move(more), ranks);
  }
  std::vector<std::string> quick(const std::string& output) const {
    return {folder_.in("recipe.toml"), "--micro-batches", "3", "--repeats", "1", "-o",
            folder_.in(output)};
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(ProfileCommand, WritesWhatPlanAndTraceRead) {
  const auto made = profile(quick("p.json"), {.count = 2});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("once a step"), std::string::npos);
  EXPECT_EQ(made.out.find("once a step"), made.out.rfind("once a step"));  // by one rank
  EXPECT_EQ(partition::read_device_profile(folder_.in("p.json")).ranks, 2);

  const auto links = profile({"--links", "-o", folder_.in("c.toml")}, {.count = 2});
  ASSERT_EQ(links.code, 0) << links.err;
  const auto planned =
      folder_.run({"plan", "--profile", folder_.in("p.json"), "--stages", "2", "--json"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_GT(nlohmann::json::parse(planned.out)["bottleneck_ms"], 0);

  const auto traced = folder_.run(
      {"trace", folder_.in("recipe.toml"), "pipeline.stages=2", "--profile", folder_.in("p.json"),
       "--links", folder_.in("c.toml"), "--steps", "2", "-o", folder_.in("trace.json"), "--json"},
      {.count = 2});
  ASSERT_EQ(traced.code, 0) << traced.err;
  const auto report = nlohmann::json::parse(traced.out);
  EXPECT_EQ(report["links_beforehand"], true);
  for (const char* seconds : {"step_measured_s", "step_beforehand_s", "step_calibrated_s"})
    EXPECT_EQ(report[seconds].size(), 2u) << seconds;
  EXPECT_EQ(report["planned_bytes"], report["allocated_bytes"]);
}

TEST_F(ProfileCommand, WritesAClusterThatPlanReads) {
  const auto made = profile({"--links", "-o", folder_.in("c.toml")}, {.count = 3});
  ASSERT_EQ(made.code, 0) << made.err;
  const partition::Cluster cluster = partition::read_cluster(folder_.in("c.toml"));
  EXPECT_EQ(cluster.size(), 3);
  EXPECT_LE(cluster.overlap, 1);
  const std::string written = test::read_file(folder_.in("c.toml"));
  EXPECT_EQ(written.find("# Links: "), 0u) << written;
}

TEST_F(ProfileCommand, RejectsMicroBatchesThatLinksDoNotHave) {
  for (const std::string option : {"--micro-batches", "--repeats"}) {
    const auto outcome = profile({"--links", option, "3"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("profile: " + option + " is for a recipe, not for --links"),
              std::string::npos)
        << outcome.err;
  }
}

TEST_F(ProfileCommand, WantsARecipeOrLinks) {
  EXPECT_EQ(profile({}).code, 2);
  const auto both = profile({folder_.in("recipe.toml"), "--links"});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("either a recipe, --links or --device"), std::string::npos) << both.err;
  EXPECT_NE(profile(quick("no/such/p.json")).err.find("can't write"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
