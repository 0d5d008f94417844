#include "runtime/recognise/audio_chunks.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/data/batch/batching.h"
#include "runtime/recognise/frame_shift.h"
#include "tests/support/runtime/small_families.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr int kLabels = 5;

/// A model with the features that it takes.
struct ChunkedModel {
  std::string name;
  configs::ModelConfig model;
  configs::FeatureConfig features = {};

  partition::LayerSequence sequence() const {
    return partition::build_frozen_model(model, kLabels);
  }
};

/// DeepSpeech2 and the families that end in CTC and take any length.
std::vector<ChunkedModel> chunked_models() {
  std::vector<ChunkedModel> models;
  models.push_back(
      {"deepspeech2",
       {.features = 41,
        .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 12, .layers = 1}},
       {.sample_rate = 8000, .window_ms = 10, .hop_ms = 5}});
  for (const test::SmallFamily& family : test::small_families()) {
    if (family.decoder != "ctc" || family.name.starts_with("absolute") ||
        family.name.starts_with("whisper") || family.name.starts_with("qwen"))
      continue;
    configs::FeatureConfig features{.kind = "fbank", .sample_rate = 16000, .hop_ms = 10};
    features.mels = family.features;
    if (family.features == 1) features.kind = "waveform";
    models.push_back({family.name, family.model(), features});
  }
  return models;
}

std::int64_t rows(const ChunkedModel& model, const AudioLength& length) {
  const std::int64_t frames = shape_utterance(0, length, 1, model.features).frames;
  return partition::output_frames(model.sequence(), std::vector{frames}).front();
}

/// Checks that chunks cover a recording and that their frames are the whole's, each once, at its
/// time.
void expect_whole(const ChunkedModel& model, const std::vector<AudioChunk>& chunks,
                  const AudioLength& length, double overlap) {
  const double shift = frame_shift(model.sequence(), model.features);
  std::int64_t covered = 0, counted = 0;
  for (const AudioChunk& chunk : chunks) {
    EXPECT_LE(chunk.samples.first, covered);
    EXPECT_GT(chunk.counted, 0);
    EXPECT_GE(chunk.skipped, 0);
    const std::int64_t all = rows(model, {chunk.samples.samples, length.rate});
    EXPECT_LE(chunk.skipped + chunk.counted, all);
    EXPECT_NEAR(static_cast<double>(chunk.samples.first) / length.rate,
                static_cast<double>(counted - chunk.skipped) * shift, 1e-9)
        << model.name << " at " << length.rate;
    covered = chunk.samples.first + chunk.samples.samples;
    counted += chunk.counted;
    if (&chunk == &chunks.front()) {
      EXPECT_EQ(chunk.skipped, 0);
    }
    if (&chunk == &chunks.back()) {
      EXPECT_EQ(chunk.skipped + chunk.counted, all);
    }
  }
  EXPECT_EQ(covered, length.samples);
  EXPECT_EQ(counted, rows(model, length))
      << model.name << ": " << length.samples << " at " << length.rate << ", " << overlap;
}

TEST(AudioChunks, CountEveryFrameOnce) {
  const auto models = chunked_models();
  EXPECT_GT(models.size(), 5u);
  for (const ChunkedModel& model : models) {
    const partition::LayerSequence sequence = model.sequence();
    for (const double overlap : {0.0, 0.4, 0.71}) {
      const AudioChunks chunks({.seconds = 1.3, .overlap = overlap}, sequence, model.features);
      for (const int rate : {8000, 16000, 44100, 11025, 12345})
        for (const double seconds : {1.4, 2.0, 7.77}) {
          const AudioLength length{static_cast<std::int64_t>(seconds * rate) + 1, rate};
          ASSERT_TRUE(chunks.cuts(length));
          expect_whole(model, chunks.cut(length), length, overlap);
        }
    }
  }
}

TEST(AudioChunks, CountHalfOfWhatTheyShare) {
  const ChunkedModel model = chunked_models().front();
  const partition::LayerSequence sequence = model.sequence();
  const AudioChunks chunks({.seconds = 3}, sequence, model.features);
  const auto cut = chunks.cut({80000, 8000});
  ASSERT_EQ(cut.size(), 5u);
  EXPECT_EQ(cut[1].samples, (SampleRange{16000, 24000}));  // a third is shared
  const std::int64_t all = rows(model, {24000, 8000});
  const std::int64_t left_out = all - cut[0].counted;
  EXPECT_LE(std::abs(left_out - cut[1].skipped), 1);
  EXPECT_NEAR(static_cast<double>(cut[1].skipped) / static_cast<double>(all), 1.0 / 6, 0.01);
}

TEST(AudioChunks, CutNoRecordingOfOneChunk) {
  const ChunkedModel model = chunked_models().front();
  const partition::LayerSequence sequence = model.sequence();
  const AudioChunks chunks({.seconds = 3}, sequence, model.features);
  EXPECT_FALSE(chunks.cuts({24000, 8000}));
  EXPECT_FALSE(chunks.cuts({48000, 16000}));
  ASSERT_TRUE(chunks.cuts({24001, 8000}));
  const auto cut = chunks.cut({24001, 8000});
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[1].samples.first + cut[1].samples.samples, 24001);
  EXPECT_GT(cut[1].samples.samples, 24000 - 200);
}

TEST(AudioChunks, EstimateTheFramesOfLabels) {
  for (const ChunkedModel& model : chunked_models()) {
    const partition::LayerSequence sequence = model.sequence();
    const AudioChunks chunks({.seconds = 1.3}, sequence, model.features);
    for (const std::int64_t samples : {3000, 9000, 77777}) {
      const AudioLength length{samples, model.features.sample_rate};
      const std::int64_t frames = shape_utterance(0, length, 1, model.features).frames;
      EXPECT_GE(chunks.output_frames(frames), rows(model, length)) << model.name;
      EXPECT_LE(chunks.output_frames(frames), rows(model, length) + 2) << model.name;
    }
  }
}

// Rows of padding would count as frames of the recording.
TEST(AudioChunks, RefuseWhatFeaturesPad) {
  ChunkedModel model = chunked_models().front();
  model.features.kind = "whisper-30s";
  const partition::LayerSequence sequence = model.sequence();
  EXPECT_EQ(test::message_of<ConfigError>(
                [&] { (void)AudioChunks({.seconds = 10}, sequence, model.features); }),
            "--chunk 10: the model's features pad what it hears to 30 s: give --chunk 30, or more");
}

TEST(AudioChunks, RefuseWhatLeavesNothing) {
  const ChunkedModel model = chunked_models().front();
  const partition::LayerSequence sequence = model.sequence();
  const auto said = [&](const Chunking& chunking) {
    return test::message_of<ConfigError>(
        [&] { (void)AudioChunks(chunking, sequence, model.features); });
  };
  EXPECT_NE(said({.seconds = 2, .overlap = 2}).find("--chunk 2 --overlap 2: a chunk has less than"),
            std::string::npos);
  EXPECT_NE(said({.seconds = 2, .overlap = 3}).find("give a longer --chunk"), std::string::npos);
  const AudioChunks chunks({.seconds = 0.021, .overlap = 0.001}, sequence, model.features);
  EXPECT_THROW((void)chunks.cut({90000, 12347}), DataError);  // rows seldom begin with a sample
}

}  // namespace
}  // namespace penstock::runtime
