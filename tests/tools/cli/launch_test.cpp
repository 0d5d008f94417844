#include "tools/cli/launch.h"

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
  EXPECT_EQ(outcome.err.find("MPI_ABORT"), std::string::npos) << outcome.err;
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

struct FoundByAll {
  std::string name;
  std::vector<std::string> overrides;
  int code;
  std::string said;
};

class FoundByAllRanks : public testing::TestWithParam<FoundByAll> {};

TEST_P(FoundByAllRanks, EndsTheJobWithoutAnAbort) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  test::write_file(folder.in("bad.jsonl"), "nonsense\n");
  std::vector<std::string> words = {"train", folder.in("recipe.toml"), "pipeline.stages=2"};
  for (const std::string& word : GetParam().overrides)
    words.push_back(word == "data.train=bad" ? "data.train=" + folder.in("bad.jsonl") : word);
  const auto outcome = folder.run(words, {2});
  EXPECT_EQ(outcome.code, GetParam().code) << outcome.err;
  EXPECT_NE(outcome.err.find("penstock: " + GetParam().said), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
  EXPECT_EQ(outcome.err.find("MPI_ABORT"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("without calling \"finalize\""), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Of, FoundByAllRanks,
    testing::Values(FoundByAll{"Ranks", {"pipeline.replicas=2"}, 2, "the job has 2 ranks, but 2"},
                    FoundByAll{"Data", {"data.train=bad"}, 3, ""},
                    FoundByAll{"Output", {"trainer.output=/proc/x"}, 4, "/proc/x: "}),
    [](const auto& info) { return info.param.name; });

TEST(Complaint, IsSaidOnceWhereEveryRankHasIt) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const auto outcome = folder.run({"train", "/gone.toml"}, {2});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("penstock: /gone.toml: no such"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
