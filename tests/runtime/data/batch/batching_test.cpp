#include "runtime/data/batch/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/runtime/data/audio/ragged_audio.h"

namespace penstock::runtime {
namespace {

TEST(ShapeUtterance, IsIntegerArithmetic) {
  configs::FeatureConfig features;
  features.sample_rate = 8000;
  const BatchUtterance slow = shape_utterance(7, {16001, 16000}, 0.9, features);
  EXPECT_EQ(slow.samples, (16001 * 5 + 8) / 9);  // 16001 × 8000 / (16000 × 0.9), rounded up
  EXPECT_EQ(slow.frames, 1 + slow.samples / 80);
  EXPECT_EQ(slow.id, 7u);
}

TEST(CutEvenly, TakesTheFewestAndTheSmallest) {
  std::vector<BatchUtterance> utterances;
  for (const std::int64_t frames : {7, 1, 13, 5, 9, 2, 8})
    utterances.push_back({utterances.size(), 1, frames, frames});
  const auto frames_of = [&](const MicroBatchBounds& bounds) {
    std::vector<std::int64_t> frames;
    for (const MicroBatch& batch : cut_evenly(utterances, bounds)) frames.push_back(batch.frames());
    return frames;
  };
  // Two are needed within 40; 21 | 24 is the most even cut of 45.
  EXPECT_EQ(frames_of({40, 0}), (std::vector<std::int64_t>{21, 24}));
  EXPECT_EQ(frames_of({45, 0}), (std::vector<std::int64_t>{45}));
  EXPECT_EQ(frames_of({45, 3}), (std::vector<std::int64_t>{8, 18, 19}));
  EXPECT_EQ(frames_of({10, 0}), (std::vector<std::int64_t>{8, 13, 5, 9, 10}));
  EXPECT_TRUE(cut_evenly({}, {10, 3}).empty());
}

TEST(EvaluationBatches, AreInOrderOfLengthAtSpeedOne) {
  const auto lengths = ragged_lengths(301);
  const auto batches = evaluation_batches(lengths, with_speeds(), {});
  expect_each_once(batches, lengths.size());
  std::int64_t before = 0;
  for (const MicroBatch& batch : batches)
    for (const BatchUtterance& utterance : batch.utterances) {
      EXPECT_EQ(utterance.speed, 1);
      EXPECT_GE(utterance.frames, before);
      before = utterance.frames;
    }
}

TEST(EvaluationBatches, LeaveALongUtteranceAlone) {
  const auto batches = evaluation_batches({{16000 * 100, 16000}, {16000, 16000}}, {}, {});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[1].utterances.front().id, 0u);
}

}  // namespace
}  // namespace penstock::runtime
