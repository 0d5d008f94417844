#include <gtest/gtest.h>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

/// TensorBoard's own readers, beside the metrics.jsonl of the same run.
class TensorBoard : public testing::Test {
 protected:
  void SetUp() override {
    if (test::run_program({"python3", "-c", "import tensorboard, tensorboard_data_server"}).code !=
        0)
      GTEST_SKIP() << "python3 has no module tensorboard (pip install tensorboard)";
    test::write_tone_corpus(in("train.jsonl"), 23, 1);
    test::write_tone_corpus(in("validation.jsonl"), 7, 2);
    test::write_tone_corpus(in("other.jsonl"), 5, 3);
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  void train_until(int steps, bool resume, const std::vector<std::string>& more = {}) {
    std::vector<std::string> overrides = {"trainer.steps=" + std::to_string(steps),
                                          "trainer.validate_every=3", "trainer.checkpoint_every=4",
                                          resume ? "trainer.resume=true" : "trainer.resume=false"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    const configs::Config recipe = configs::parse_config(
        test::tone_recipe(in("train.jsonl"), in("validation.jsonl"), in("output")), "recipe.toml",
        layers::model_families(), overrides);
    comm::run_as_threads({.ranks = 1},
                         [&](comm::Communicator& world) { train({.recipe = recipe}, world, {}); });
  }
  /// Returns "", or how what TensorBoard shows differs from metrics.jsonl.
  std::string differences(int starts) const {
    const auto script = test::source("tests/runtime/trainer/read_events.py");
    const test::Outcome read =
        test::run_program({"python3", script.string(), in("output"), std::to_string(starts)});
    return read.code == 0 ? "" : read.out + read.err;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TensorBoard, ShowsWhatMetricsRecord) {
  train_until(6, false);
  EXPECT_EQ(differences(1), "");
}

TEST_F(TensorBoard, ShowsTheRatesOfEachManifest) {
  train_until(3, false,
              {"data.validation=[" + in("validation.jsonl") + ", " + in("other.jsonl") + "]"});
  EXPECT_EQ(differences(1), "");
}

/// The first run had done steps that its newest checkpoint lacks. The second ends before the last
/// of these.
TEST_F(TensorBoard, ShowsNoStepTwiceAfterAResumption) {
  train_until(7, false);
  for (const char* lost : {"output/checkpoint-000000006", "output/checkpoint-000000007"})
    std::filesystem::remove_all(in(lost));
  train_until(6, true);
  EXPECT_EQ(differences(2), "");
}

}  // namespace
}  // namespace penstock::runtime
