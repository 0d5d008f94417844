#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class Average : public testing::Test {
 protected:
  void SetUp() override {
    const auto outcome =
        folder_.train("output", {"trainer.steps=4", "trainer.checkpoint_every=1",
                                 "trainer.validate_every=2", "trainer.keep=9", "trainer.ema=0.9",
                                 "data.validation=" + folder_.in("validation.jsonl")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Average, IsEvaluatedShownAndTrained) {
  const std::string mean = folder_.in("mean");
  const auto made = folder_.run({"average", folder_.in("output"), "--best", "2", "-o", mean});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("in each of 2 checkpoints is now " + mean), std::string::npos);
  const auto info = folder_.run({"info", mean});
  for (const std::string step : {"2", "4"})
    EXPECT_NE(info.out.find("a mean with step " + step + " of " +
                            folder_.in("output/checkpoint-00000000" + step)),
              std::string::npos)
        << info.out;
  EXPECT_EQ(folder_.run({"evaluate", mean, folder_.in("validation.jsonl")}).code, 0);
  const auto tuned = folder_.train("tuned", {"trainer.steps=1", "trainer.init=" + mean});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
}

TEST_F(Average, OfATrainingIsExportedUnlessWithout) {
  const auto loss_of = [&](const std::string& checkpoint) {
    const auto said =
        folder_.run({"evaluate", checkpoint, folder_.in("validation.jsonl"), "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    return nlohmann::json::parse(said.out)["loss"].get<double>();
  };
  const std::string output = folder_.in("output"), average = folder_.in("average"),
                    weights = folder_.in("weights");
  EXPECT_EQ(folder_.run({"export", "--weights", output, "-o", average}).code, 0);
  EXPECT_EQ(folder_.run({"export", "--weights", "--without-ema", output, "-o", weights}).code, 0);
  EXPECT_EQ(loss_of(average), loss_of(output));
  EXPECT_NE(loss_of(weights), loss_of(output));
}

TEST_F(Average, PrintsOneJsonObject) {
  const auto made = folder_.run(
      {"average", folder_.in("output"), "--last", "3", "-o", folder_.in("mean"), "--json"});
  EXPECT_EQ(made.code, 0) << made.err;
  const auto json = nlohmann::json::parse(made.out);
  ASSERT_EQ(json["averaged"].size(), 3u);
  EXPECT_EQ(json["averaged"][0]["step"], 2);
}

TEST_F(Average, EndsWithItsExitCodes) {
  const std::string output = folder_.in("output"), mean = folder_.in("mean");
  EXPECT_EQ(folder_.run({"average", output, "-o", mean}).code, 2);
  EXPECT_EQ(folder_.run({"average", output, output, "--last", "2", "-o", mean}).code, 2);
  EXPECT_EQ(folder_.run({"average", output, "--last", "1", "-o", mean}).code, 2);
  EXPECT_EQ(folder_.run({"average", output, "--last", "2", "--best", "2", "-o", mean}).code, 2);
  EXPECT_EQ(folder_.run({"average", output, "--best", "3", "-o", mean}).code, 4);
}

}  // namespace
}  // namespace penstock::tools
