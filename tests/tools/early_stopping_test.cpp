#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A training that two validations without a lower error rate have ended.
class EarlyEnds : public testing::Test {
 protected:
  test::Outcome train(std::vector<std::string> more, test::Ranks ranks = {}) const {
    more.insert(more.begin(), {"trainer.validate_every=2", "trainer.steps=16",
                               "trainer.early_stopping_threshold=1000"});  // never reached
    return folder_.train("output", more, ranks);
  }

  const std::string patience_ = "trainer.early_stopping_patience=2";
  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(EarlyEnds, IsTheLastThingACommandSays) {
  const test::Outcome outcome = train({patience_, "pipeline.stages=2"}, {2});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string last =
      "\nended early: no better wer, by more than 1000, in 2 validations than ";
  EXPECT_NE(outcome.out.find(last), std::string::npos) << outcome.out;
  const test::Outcome watched = folder_.run({"watch", folder_.in("output"), "--once"});
  EXPECT_NE(watched.out.find(
                "\nended early           no better wer, by more than 1000, in 2 validations "),
            std::string::npos)
      << watched.out;
}

TEST_F(EarlyEnds, NamesTheKeyThatTrainsOn) {
  ASSERT_EQ(train({patience_}).code, 0);
  const test::Outcome again = train({patience_, "trainer.resume=true"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("where the run ended early: no better wer, by more than 1000, in 2 "),
            std::string::npos)
      << again.out;
  const std::string key = "\n  trainer.early_stopping_patience=0\n";
  EXPECT_NE(again.out.find(key), std::string::npos) << again.out;
  const auto json = nlohmann::json::parse(train({patience_, "trainer.resume=true", "--json"}).out);
  EXPECT_EQ(json["steps"], 0);
  EXPECT_TRUE(json["early_stopping"].is_string());
  EXPECT_FALSE(json.contains("stopped"));
  const test::Outcome on = train({patience_, "trainer.resume=true", key.substr(3, key.size() - 4)});
  EXPECT_EQ(on.code, 0) << on.err;
  EXPECT_EQ(folder_.record("output").losses.size(), 16u);
  EXPECT_EQ(on.out.find("ended early"), std::string::npos) << on.out;
}

TEST_F(EarlyEnds, NeedsValidationsAndAMetric) {
  for (const auto& [override, said] :
       {std::pair{"data.validation=",
                  "trainer.early_stopping_patience = 2 counts validations, but "
                  "data.validation is empty"},
        std::pair{"trainer.best_metric=per", "it takes one of wer, cer, loss"}}) {
    const test::Outcome refused = train({patience_, override});
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace penstock::tools
