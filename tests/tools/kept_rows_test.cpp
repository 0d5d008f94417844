#include <gtest/gtest.h>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

class KeptRowsOfRuns : public testing::Test {
 protected:
  KeptRowsOfRuns() {
    EXPECT_EQ(folder_.train("source", {"trainer.steps=1", "data.validation="}).code, 0);
  }

  test::Outcome tune(const std::string& output, std::vector<std::string> overrides,
                     test::Ranks ranks = {}) const {
    overrides.insert(overrides.end(), {"trainer.init=" + folder_.in("source"), "trainer.steps=2",
                                       "data.validation=", "trainer.init_head=pieces"});
    return folder_.train(output, overrides, ranks);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(KeptRowsOfRuns, AreEqualOverStagesAndReplicas) {
  const std::string other = "text.alphabet=daéxbc";
  const test::Outcome alone = tune("alone", {other});
  ASSERT_EQ(alone.code, 0) << alone.err;
  const std::string note = "output keeps 5 of 7 rows, whose labels the checkpoint has too";
  for (const test::Outcome& outcome :
       {alone, tune("stages", {other, "pipeline.stages=2"}, {.count = 2}),
        tune("replicas", {other, "pipeline.replicas=2"}, {.count = 2})}) {
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const std::size_t at = outcome.err.find(note);
    EXPECT_NE(at, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(note, at + 1), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(fs::exists(folder_.in("alone/metrics.jsonl")));
  EXPECT_EQ(folder_.record("stages"), folder_.record("alone"));
  EXPECT_EQ(folder_.record("replicas"), folder_.record("alone"));
}

TEST_F(KeptRowsOfRuns, ErrorsEndBeforeAnythingIsSaved) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"text.alphabet=xyz", "have only the blank in common"},
      {"model.hidden=13", "keeps rows of equal length"},
      {"optimizer.freeze=[output.w*]", "2 of the 7 rows of output.weight would start anew"}};
  for (const auto& [override, said] : refused) {
    const test::Outcome outcome = tune("refused", {"text.alphabet=abcdxy", override});
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder_.in("refused/metrics.jsonl")));
  }
}

}  // namespace
}  // namespace penstock::tools
