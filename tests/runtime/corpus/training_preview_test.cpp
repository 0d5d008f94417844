#include "runtime/corpus/training_preview.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "runtime/corpus/augment_sounds.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/batch/steps.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr const char* kAugment = R"(
[augment]
freq_masks = 2
freq_width = 9
time_masks = 2
time_warp = 5
room_share = 0.5
noise_share = 0.5
gain_db = [-6, 6]
codecs = ["g711-mulaw", "band-300-3400"]
codec_share = 0.5
)";

/// Replaces the model of a recipe by one that hears samples.
std::string with_samples(std::string recipe) {
  recipe.replace(0, recipe.find("[text]"), R"([model]
kind = "wav2vec2"
features = 1
channels = 8
kernels = [64, 8]
strides = [10, 4]
width = 8
heads = 2
layers = 1
inner = 12
position_kernel = 3
position_groups = 2
)");
  const std::string window = "window_ms = 10\nhop_ms = 5";
  return recipe.replace(recipe.find(window), window.size(), "kind = \"waveform\"") +
         "[augment]\ngain_db = [-6, 6]\n";
}

class TrainingPreviewTest : public testing::Test {
 protected:
  TrainingPreviewTest() {
    test::write_tone_corpus(in("train.jsonl"), 12, 1);
    std::filesystem::create_directories(in("rooms"));
    std::filesystem::create_directories(in("noises"));
    test::write_sound(in("rooms/a.wav"), std::vector<float>{1, 0, 0.5f}, {0x010006, 8000});
    test::write_sound(in("noises/b.wav"), test::make_sound(9000, 5), {0x010006, 8000});
    test::write_sound(in("noises/c.wav"), test::make_sound(30000, 6), {0x010006, 16000});
  }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  std::string text() const { return test::tone_recipe(in("train.jsonl"), "", in("output")); }
  configs::Config parsed(const std::string& text, std::vector<std::string> overrides) const {
    overrides.push_back("data.cache=" + in("cache").string());
    return configs::parse_config(text, "recipe.toml", layers::model_families(), overrides);
  }
  /// A recipe with everything in [augment].
  configs::Config recipe(std::vector<std::string> overrides = {}) const {
    overrides.push_back("augment.rooms=" + in("rooms").string());
    overrides.push_back("augment.noise=" + in("noises").string());
    return parsed(text() + kAugment, overrides);
  }

  test::TemporaryFolder folder_;
};

/// Returns what a training's loader passes to the first stage in one epoch, by utterance.
std::map<std::uint64_t, std::vector<float>> trained_on(const configs::Config& config,
                                                       std::int64_t epoch) {
  const auto tokenizer = make_tokenizer(config.text);
  const partition::LayerSequence sequence =
      partition::build_trained_model(config, tokenizer->labels());
  const Corpus corpus = load_augmented_corpus(config, sequence, *tokenizer);
  const StepSequence steps({.lengths = corpus.lengths,
                            .data = config.data,
                            .features = config.features,
                            .seed = config.trainer.seed,
                            .lanes = config.trainer.lanes});
  FeatureFeed feed(corpus, config.features, 2, training_augmentation(corpus, config));
  const ReadFeatures read = feed.reader();
  std::map<std::uint64_t, std::vector<float>> features;
  const auto bins = static_cast<std::size_t>(feature_bins(config.features));
  for (std::int64_t step = 0; steps.at(step).epoch <= epoch; ++step) {
    if (steps.at(step).epoch < epoch) continue;
    const StepBatches batches = steps.at(step);
    feed.announce(epoch, batches.micro_batches);
    for (const MicroBatch& batch : batches.micro_batches) {
      std::vector<float> x_FC(static_cast<std::size_t>(batch.frames()) * bins);
      std::vector<float> weights(batch.utterances.size());
      read(0, x_FC, weights);
      std::size_t first = 0;
      for (const BatchUtterance& utterance : batch.utterances) {
        const std::size_t numbers = static_cast<std::size_t>(utterance.frames) * bins;
        const auto begin = x_FC.begin() + static_cast<std::ptrdiff_t>(first);
        features[utterance.id] = {begin, begin + static_cast<std::ptrdiff_t>(numbers)};
        first += numbers;
      }
    }
  }
  EXPECT_EQ(feed.failed(), 0);
  return features;
}

/// Every utterance of two epochs, of a model that hears a spectrogram and of one that hears
/// samples.
TEST_F(TrainingPreviewTest, ShowsTheBitsThatTrainingReads) {
  for (const configs::Config& config : {recipe(), parsed(with_samples(text()), {})})
    for (const std::int64_t epoch : {0, 3}) {
      const auto trained = trained_on(config, epoch);
      TrainingPreview preview(config, epoch);
      ASSERT_EQ(preview.draws(), 12u);
      ASSERT_EQ(trained.size(), 12u);
      for (const std::uint64_t number : preview.chosen(12)) {
        const PreviewedUtterance utterance = preview.at(number);
        EXPECT_EQ(utterance.x_FC, trained.at(utterance.drawn.id)) << number;
        // The samples that are heard are those of which the features were made.
        std::vector<float> x_FC(utterance.x_FC.size());
        FeatureExtractor(config.features).extract(utterance.heard, x_FC);
        SpecAugment(config.augment, config.features, config.trainer.seed)
            .apply({epoch, utterance.drawn.id}, x_FC);
        EXPECT_EQ(x_FC, utterance.x_FC) << number;
      }
    }
}

TEST_F(TrainingPreviewTest, TellsTextsLabelsAndRecordings) {
  TrainingPreview preview(recipe(), 1);
  bool room = false, noise = false;
  for (const std::uint64_t number : preview.chosen(12)) {
    const PreviewedUtterance utterance = preview.at(number);
    EXPECT_EQ(utterance.name, "utterance " + std::to_string(number));
    EXPECT_EQ(utterance.where, "train.jsonl:" + std::to_string(number + 1));
    EXPECT_EQ(utterance.audio, in("train-" + std::to_string(number) + ".wav"));
    std::string spelled;
    for (const std::string& label : utterance.labels) spelled += label;
    EXPECT_EQ(spelled, utterance.text);
    EXPECT_EQ(utterance.room, utterance.effects.audio.room ? in("rooms/a.wav").string() : "");
    EXPECT_EQ(utterance.noise.starts_with(in("noises/").string()),
              utterance.effects.audio.noise.has_value());
    room |= !utterance.room.empty();
    noise |= !utterance.noise.empty();
  }
  EXPECT_TRUE(room);
  EXPECT_TRUE(noise);
}

TEST_F(TrainingPreviewTest, RecordedSamplesAreUnchanged) {
  TrainingPreview preview(recipe({"data.speeds=[0.9]"}), 0);
  const PreviewedUtterance utterance = preview.at(5);
  EXPECT_EQ(utterance.recorded, read_audio(in("train-5.wav")).samples);
  EXPECT_GT(utterance.heard.size(), utterance.recorded.size());
  TrainingPreview plain(parsed(text(), {"data.speeds=[1]"}), 0);
  EXPECT_EQ(plain.at(5).heard, plain.at(5).recorded);
}

TEST_F(TrainingPreviewTest, ChoosesEvenlyAndAtMostAll) {
  const TrainingPreview preview(recipe(), 0);
  EXPECT_EQ(preview.chosen(3), (std::vector<std::uint64_t>{0, 4, 8}));
  EXPECT_EQ(preview.chosen(1), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(preview.chosen(99).size(), 12u);
}

TEST_F(TrainingPreviewTest, RefusesWhatTrainingRefuses) {
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)TrainingPreview(recipe({"model.features=40"}), 0);
            }).find("model.features = 40"),
            std::string::npos);
  test::write_file(in("gone.jsonl"), R"({"audio_filepath": "gone.wav", "text": "a"})");
  EXPECT_NE(test::message_of<DataError>([&] {
              (void)TrainingPreview(recipe({"data.train=" + in("gone.jsonl").string()}), 0);
            }).find("gone.wav: no such file"),
            std::string::npos);
}

/// A recording that is damaged after the index was made is found when it is read.
TEST_F(TrainingPreviewTest, NamesARecordingThatFails) {
  TrainingPreview preview(recipe(), 0);
  std::filesystem::remove(in("train-7.wav"));
  EXPECT_NO_THROW((void)preview.at(6));
  const std::string message = test::message_of<DataError>([&] { (void)preview.at(7); });
  EXPECT_NE(message.find("train-7.wav: no such file"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
