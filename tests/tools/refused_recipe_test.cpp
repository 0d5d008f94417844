#include <gtest/gtest.h>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using test::TrainingFolder;

struct BadRecipe {
  std::string name;
  std::vector<std::string> overrides;
  std::vector<std::string> said;
  int code = 2;
};

class RejectedRecipe : public testing::TestWithParam<BadRecipe> {
 protected:
  TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_P(RejectedRecipe, EndsBeforeAnythingIsWritten) {
  const auto outcome = folder_.train("output", GetParam().overrides);
  EXPECT_EQ(outcome.code, GetParam().code);
  EXPECT_EQ(outcome.out, "");
  for (const std::string& part : GetParam().said)
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " is not in " << outcome.err;
  EXPECT_FALSE(fs::exists(folder_.in("output")));
  EXPECT_FALSE(fs::exists(folder_.in("train.jsonl.index")));
}

INSTANTIATE_TEST_SUITE_P(
    Of, RejectedRecipe,
    testing::Values(
        BadRecipe{"UnknownKeys",
                  {"trainer.stepps=3", "trainer.seed=x"},
                  {"did you mean trainer.steps?", "trainer.seed = x"}},
        BadRecipe{"BothNamesOfAKey",
                  {"schedule.floor=0.1", "lr_schedule.min_lr=0.1"},
                  {"lr_schedule.min_lr and schedule.floor (command line) are one key"}},
        BadRecipe{"Speeds", {"data.speeds=[0.4, 1]"}, {"command line: data.speeds", "0.5 to 2"}},
        BadRecipe{"Sizes",
                  {"model.hidden=2000000000", "data.loaders=99999", "trainer.threads=99999"},
                  {"model.hidden = 2000000000", "data.loaders = 99999", "trainer.threads = 99999"}},
        BadRecipe{"Features", {"model.features=40"}, {"41", "40"}},
        BadRecipe{"EmptyOutput", {"trainer.output="}, {"trainer.output = , but it takes text"}},
        BadRecipe{
            "OutputNotUtf8", {"trainer.output=\xe9"}, {"trainer.output = \\xe9, which is not"}},
        BadRecipe{"NoWeight",
                  {"data.train=[{manifest=\"a.jsonl\", weight=0}, \"b.jsonl\"]"},
                  {"command line: data.train = ", "item 1 has the weight 0: a weight is a number"}},
        BadRecipe{"ManifestTwice",
                  {"data.train=[a.jsonl, ./a.jsonl]"},
                  {"items 1 and 2 name one manifest, ./a.jsonl"}},
        BadRecipe{"Temperature",
                  {"data.temperature=0"},
                  {"data.temperature = 0, but it takes a number above 0"}},
        BadRecipe{"NoManifest", {"data.train="}, {"data.train is not set"}},
        BadRecipe{"MissingManifest", {"data.train=/gone"}, {"/gone: no such file"}, 3},
        BadRecipe{"MissingPlan", {"pipeline.plan=/gone"}, {"/gone"}},
        BadRecipe{"OutputBelowAFile",
                  {"trainer.output=/etc/passwd/x"},
                  {"/etc/passwd is not a folder"},
                  4},
        BadRecipe{
            "OutputIsAFile", {"trainer.output=/etc/passwd"}, {"/etc/passwd is not a folder"}, 4},
        BadRecipe{
            "OutputThatCannotBeMade", {"trainer.output=/proc/x"}, {"/proc/x: can't be made"}, 4}),
    [](const auto& info) { return info.param.name; });

TEST(RejectedRecipeFile, MissingOrMalformed) {
  const TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const auto missing = folder.run({"train", folder.in("gone.toml")});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("gone.toml: no such configuration file"), std::string::npos);
  const auto model = folder.run({"train", "ds2-tny"});
  EXPECT_EQ(model.code, 2);
  EXPECT_NE(model.err.find("for the model ds2-tiny, write model.base=ds2-tiny"), std::string::npos)
      << model.err;
  const auto recipe = folder.run({"train", "quickstrat.toml"});
  EXPECT_EQ(recipe.code, 2);
  EXPECT_NE(recipe.err.find("recipes/quickstart.toml?"), std::string::npos) << recipe.err;
  test::write_file(folder.in("bad.toml"), "[trainer]\nsteps = [\n");
  const auto malformed = folder.run({"train", folder.in("bad.toml")});
  EXPECT_EQ(malformed.code, 2);
  EXPECT_NE(malformed.err.find("bad.toml:"), std::string::npos) << malformed.err;
}

}  // namespace
}  // namespace penstock::tools
