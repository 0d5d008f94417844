#include "runtime/data/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "runtime/data/sample_hash.h"

namespace penstock::runtime {
namespace {

/// Recordings of 0.3 to 12 s at three rates.
std::vector<AudioLength> ragged_lengths(std::uint64_t count) {
  std::vector<AudioLength> lengths;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = sample_hash(SampleKind::order, 99, {i});
    const int rate = std::array{8000, 16000, 44100}[bits % 3];
    lengths.push_back({rate * 3 / 10 + static_cast<std::int64_t>(bits % (12 * rate)), rate});
  }
  return lengths;
}

configs::DataConfig with_speeds() {
  configs::DataConfig data;
  data.speeds = {0.9, 1, 1.1};
  return data;
}

void expect_each_once(const std::vector<MicroBatch>& batches, std::size_t utterances) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (const MicroBatch& batch : batches)
    for (const BatchUtterance& utterance : batch.utterances) {
      seen.insert(utterance.id);
      ++count;
    }
  EXPECT_EQ(count, utterances);
  EXPECT_EQ(seen.size(), utterances);
}

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
