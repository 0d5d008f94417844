#include "tools/launch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/job/job.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

TEST(LaunchedRank, IsWhatAnyLauncherSays) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PENSTOCK_RANK"}) {
    EXPECT_TRUE(runtime::runs_alone());
    EXPECT_EQ(launched_rank(), 0);
    ::setenv(name, "3", 1);
    EXPECT_FALSE(runtime::runs_alone()) << name;
    EXPECT_EQ(launched_rank(), 3) << name;
    ::unsetenv(name);
  }
}

TEST(Complaint, NamesTheOnlyRankThatHasIt) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const auto outcome = folder.run(
      {"train", folder.in("recipe.toml"), ":", "-np", "1", PENSTOCK_BINARY, "train", "/gone.toml"},
      {1});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("penstock: rank 1: /gone.toml: no such"), std::string::npos)
      << outcome.err;
}

TEST(Complaint, IsOfRecipesThatDifferAmongRanks) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const std::string recipe = folder.in("recipe.toml");
  const auto outcome =
      folder.run({"train", recipe, "pipeline.stages=2", ":", "-np", "1", PENSTOCK_BINARY, "train",
                  recipe, "pipeline.stages=2", "data.validation="},
                 {1});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("data.validation is \""), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder.in("output")));
}

TEST(Complaint, EndsRanksWithoutMpirunAsWell) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const auto outcome =
      folder.run({"train", folder.in("recipe.toml"), "pipeline.stages=3"}, {2, false, true});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("the job has 2 ranks, but 3 stages"), std::string::npos)
      << outcome.err;
}

TEST(Complaint, IsSaidOnceWhereEveryRankHasIt) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const auto outcome = folder.run({"train", "/gone.toml"}, {2});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("penstock: /gone.toml: no such"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
