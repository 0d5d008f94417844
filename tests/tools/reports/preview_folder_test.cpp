#include "tools/reports/preview_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/preview_page.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

/// An utterance of three frames of four mels, stacked in one of twelve channels.
runtime::PreviewedUtterance small_utterance() {
  runtime::PreviewedUtterance utterance{.name = "utterance 3",
                                        .where = "train.jsonl:4",
                                        .audio = "../../etc/a.wav",
                                        .text = "yes no"};
  utterance.trained_text = "yes no";
  utterance.labels = {"yes", " ", "no"};
  utterance.drawn = {.id = 3, .speed = 1.1, .samples = 900, .frames = 1};
  utterance.recorded = test::make_sound(1000);
  utterance.heard = test::make_sound(900, 2);
  utterance.x_FC = {0.1f, 1e-30f, -3.0f, 7, 1, 2, 3, 4, 5, 6, 7, 8};
  utterance.effects.features = {
      .warp = runtime::TimeWarp{1, 2}, .channels = {{1, 2}, {3, 0}}, .frames = {{2, 1}}};
  return utterance;
}

class PreviewFolderTest : public testing::Test {
 protected:
  PreviewFolderTest() {
    config_.features.sample_rate = 8000;
    config_.features.kind = "log-mel";
    config_.features.mels = 4;
    config_.features.stack = 3;
  }
  std::string written(const std::vector<runtime::PreviewedUtterance>& utterances) {
    PreviewFolder folder(folder_.path(), config_, {"recipe.toml", 2, utterances.size(), 50});
    for (const runtime::PreviewedUtterance& utterance : utterances) folder.add(utterance);
    folder.finish();
    return test::read_file(folder_.path() / "index.html");
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  test::TemporaryFolder folder_;
  configs::Config config_;
};

TEST_F(PreviewFolderTest, KeepsSamplesAndFeaturesToTheBit) {
  const runtime::PreviewedUtterance utterance = small_utterance();
  const test::PreviewData data = test::preview_data(written({utterance}));
  ASSERT_EQ(data.utterances.size(), 1u);
  const nlohmann::json& shown = data.utterances.front();
  EXPECT_EQ(runtime::read_audio(folder_.path() / "01.wav").samples, utterance.heard);
  EXPECT_EQ(runtime::read_audio(folder_.path() / "01-recorded.wav").samples, utterance.recorded);
  EXPECT_EQ(shown["heard"]["file"], "01.wav");
  EXPECT_EQ(shown["recorded"]["file"], "01-recorded.wav");
  EXPECT_EQ(test::features_of(shown), utterance.x_FC);
  EXPECT_EQ(shown["features"]["frames"], 3);
  EXPECT_EQ(shown["features"]["channels"], 4);
  EXPECT_EQ(shown["features"]["hop"], 0.01);
  EXPECT_EQ(shown["features"]["warp"], nlohmann::json({1, 2}));
  EXPECT_EQ(shown["features"]["channelMasks"], nlohmann::json::parse("[[1, 2]]"));
  EXPECT_EQ(shown["features"]["timeMasks"], nlohmann::json::parse("[[2, 1]]"));
}

TEST_F(PreviewFolderTest, WritesUnchangedSamplesOnce) {
  runtime::PreviewedUtterance same = small_utterance();
  same.recorded = same.heard;
  const test::PreviewData data = test::preview_data(written({same, small_utterance()}));
  EXPECT_EQ(data.utterances.at(0)["recorded"], nullptr);
  EXPECT_EQ(files(), (std::set<std::string>{"index.html", "01.wav", "02.wav", "02-recorded.wav"}));
}

TEST_F(PreviewFolderTest, ShowsNoFeaturesOfWaveforms) {
  config_.features.kind = "waveform";
  config_.features.stack = 1;
  const test::PreviewData data = test::preview_data(written({small_utterance()}));
  EXPECT_EQ(data.utterances.front()["features"], nullptr);
}

/// Columns hold the least and the greatest sample, each sample in one of them.
TEST_F(PreviewFolderTest, DrawsEveryPeak) {
  runtime::PreviewedUtterance utterance = small_utterance();
  utterance.heard.assign(5003, 0.125f);
  utterance.heard[0] = -0.5f;
  utterance.heard[5002] = 1.25f;
  const test::PreviewData data = test::preview_data(written({utterance}));
  const nlohmann::json& heard = data.utterances.front()["heard"];
  ASSERT_EQ(heard["columns"].size(), 1200u);
  EXPECT_EQ(heard["columns"].front(), nlohmann::json({-0.5, 0.125}));
  EXPECT_EQ(heard["columns"][600], nlohmann::json({0.125, 0.125}));
  EXPECT_EQ(heard["columns"].back(), nlohmann::json({0.125, 1.25}));
  EXPECT_EQ(heard["peak"], 1.25);
  EXPECT_EQ(heard["seconds"], 5003 / 8000.0);
}

TEST_F(PreviewFolderTest, TellsWhatTheRecipeChanges) {
  config_.augment.gain_db = {-3, 3};
  config_.data.speeds = {0.9, 1};
  const nlohmann::json head = test::preview_data(written({})).head;
  EXPECT_EQ(head["title"], "recipe.toml");
  EXPECT_EQ(head["headline"], "0 of 50 utterances, as in epoch 2 of the training.");
  EXPECT_EQ(head["facts"], nlohmann::json::parse(R"([
      ["features", "log-mel, 4 channels every 10 ms, at 8000 Hz"], ["trainer.seed", "1"],
      ["augment.gain_db", "[-3, 3]"], ["data.speeds", "[0.9, 1]"]])"));
}

/// Whatever a text or a name holds, it is data: no element begins or ends, and no file is
/// elsewhere.
TEST_F(PreviewFolderTest, TextsAreHarmless) {
  runtime::PreviewedUtterance hostile = small_utterance();
  for (std::string* text : {&hostile.text, &hostile.trained_text, &hostile.name, &hostile.where,
                            &hostile.audio, &hostile.labels.front()})
    *text = "</script><script>alert(1)</script><!-- <script> {{script}} ../../x \xff";
  const std::string page = written({hostile, small_utterance()});
  EXPECT_EQ(page.find("alert(1)</"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  const test::PreviewData data = test::preview_data(page);
  ASSERT_EQ(data.utterances.size(), 2u);
  EXPECT_EQ(data.utterances.front()["text"],
            "</script><script>alert(1)</script><!-- <script> {{script}} ../../x \xEF\xBF\xBD");
  EXPECT_EQ(files().size(), 5u);
}

/// No script makes elements of a text, and nothing is loaded but the WAV files.
TEST_F(PreviewFolderTest, PageNeedsNothingElse) {
  const std::string page = written({small_utterance()});
  EXPECT_FALSE(std::regex_search(
      page, std::regex(R"(innerHTML|outerHTML|insertAdjacent|document\.write|eval\()")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=|url\(|@import|https://)")));
  EXPECT_EQ(page.find("{{"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
