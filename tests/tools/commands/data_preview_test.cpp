#include <gtest/gtest.h>

#include <filesystem>

#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/corpus/training_preview.h"
#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/preview_page.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class DataPreview : public testing::Test {
 protected:
  test::Outcome preview(std::vector<std::string> words) const {
    words.insert(words.begin(), {"data", "preview", folder_.in("recipe.toml")});
    words.insert(words.end(), overrides_.begin(), overrides_.end());
    return folder_.run(words);
  }
  std::string out() const { return folder_.in("preview"); }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::vector<std::string> overrides_ = {"augment.gain_db=[-6, 6]", "augment.freq_masks=2",
                                         "augment.time_masks=2", "augment.codecs=[\"gsm\"]"};
};

/// tests/runtime/corpus/training_preview_test.cpp shows that TrainingPreview has training's bits.
TEST_F(DataPreview, WritesTheBitsOfTheEpoch) {
  const auto outcome = preview({"-o", out(), "--utterances", "3", "--epoch", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, out() + "/index.html: 3 of 30 utterances, as in epoch 2\n");
  const test::PreviewData data = test::preview_data(test::read_file(out() + "/index.html"));
  ASSERT_EQ(data.utterances.size(), 3u);
  runtime::TrainingPreview expected(
      configs::load_config(folder_.in("recipe.toml"), layers::model_families(), overrides_), 2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const runtime::PreviewedUtterance utterance = expected.at(10 * i);
    const nlohmann::json& shown = data.utterances[i];
    EXPECT_EQ(test::features_of(shown), utterance.x_FC);
    EXPECT_EQ(shown["text"], utterance.text);
    for (const auto& [name, samples] :
         {std::pair("heard", utterance.heard), std::pair("recorded", utterance.recorded)})
      EXPECT_EQ(runtime::read_audio(out() + "/" + shown[name]["file"].get<std::string>()).samples,
                samples);
  }
}

TEST_F(DataPreview, ShowsAllOfASmallCorpus) {
  const auto outcome = preview({"-o", out(), "--utterances", "100"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(": 30 of 30 utterances, as in epoch 0"), std::string::npos);
}

TEST_F(DataPreview, ShowsAMixture) {
  const auto outcome = preview(
      {"-o", out(), "--utterances", "100",
       "data.train=[" + folder_.in("train.jsonl") + ", " + folder_.in("validation.jsonl") + "]"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const test::PreviewData data = test::preview_data(test::read_file(out() + "/index.html"));
  EXPECT_EQ(data.utterances.size(), 37u);
}

TEST_F(DataPreview, LeavesAFolderAsItIs) {
  std::filesystem::create_directory(out());
  const auto outcome = preview({"-o", out()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find(out() + ": is there already"), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(out()));
}

TEST_F(DataPreview, RefusesWrongOptions) {
  EXPECT_EQ(preview({}).code, 2);
  EXPECT_EQ(preview({"-o", out(), "--utterances", "0"}).code, 2);
  EXPECT_EQ(preview({"-o", out(), "--epoch", "-1"}).code, 2);
  EXPECT_EQ(preview({"-o", "s3://bucket/preview"}).code, 2);
  EXPECT_EQ(preview({"-o", out(), "augment.gain=3"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(out()));
}

/// The header is whole, so the recording fails when it is decoded, after the page was begun.
TEST_F(DataPreview, LeavesNothingIfARecordingFails) {
  const std::string recording = folder_.in("train-29.wav");
  ASSERT_EQ(folder_.run({"data", "index", folder_.in("train.jsonl")}).code, 0);
  const auto time = std::filesystem::last_write_time(recording);
  std::string bytes = test::read_file(recording);
  bytes.replace(0, 4, "RIFX");
  test::write_file(recording, bytes);
  std::filesystem::last_write_time(recording, time);
  const auto outcome = preview({"-o", out(), "--utterances", "30"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("train-29.wav: "), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(out()));
  EXPECT_FALSE(std::filesystem::exists(out() + ".partial"));
}

}  // namespace
}  // namespace penstock::tools
