#include "runtime/data/batch/extent.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {
namespace {

StepSequenceOptions options(std::uint64_t utterances, int max = 0) {
  StepSequenceOptions options;
  std::vector<AudioLength> lengths;
  for (std::uint64_t i = 0; i < utterances; ++i)
    lengths.push_back(
        {8000 + static_cast<std::int64_t>(sample_hash(SampleKind::order, 3, {i}) % 120000), 16000});
  options.lengths = lengths;
  options.data.speeds = {0.9, 1, 1.1};
  options.data.micro_batch_seconds = 20;
  options.data.micro_batch_utterances = max;
  options.data.micro_batches = 5;
  options.seed = 11;
  options.most_labels = 37;
  return options;
}

void expect_within(const MicroBatchExtent& a, const MicroBatchExtent& b) {
  EXPECT_LE(a.utterances, b.utterances);
  EXPECT_LE(a.frames, b.frames);
  EXPECT_LE(a.longest, b.longest);
  EXPECT_LE(a.labels, b.labels);
}

TEST(Extent, IsOfTheStepsThatHaveMost) {
  const StepSequence sequence(options(11));
  WorkExtent expected{.micro_batch = {.labels = 37}};
  for (int step = 0; step < 30; ++step) {
    const auto batches = sequence.at(step).micro_batches;
    expected.micro_batches = std::max(expected.micro_batches, static_cast<int>(batches.size()));
    for (const MicroBatch& batch : batches) expected.micro_batch.cover(batch);
  }
  EXPECT_EQ(extent_of(sequence, 30), expected);
  // More epochs find more, which one epoch alone would not have told.
  const WorkExtent epoch = extent_of(sequence, sequence.steps_in_epoch(0));
  EXPECT_NE(epoch, expected);
  expect_within(epoch.micro_batch, expected.micro_batch);
}

/// The run's data changed: the epochs before its start held others.
TEST(Extent, IsOfTheStepsFromTheStartOn) {
  StepSequenceOptions changed = options(11);
  const StepSequence whole(changed);
  changed.start = {9, 4};
  WorkExtent expected{.micro_batch = {.labels = 37}};
  std::int64_t first = 0;
  for (std::int64_t epoch = 0; epoch < 9; ++epoch) first += whole.steps_in_epoch(epoch);
  for (std::int64_t step = first; step < first + 2; ++step) {
    const auto batches = whole.at(step).micro_batches;
    expected.micro_batches = std::max(expected.micro_batches, static_cast<int>(batches.size()));
    for (const MicroBatch& batch : batches) expected.micro_batch.cover(batch);
  }
  EXPECT_EQ(extent_of(StepSequence(changed), 4 + 2), expected);
  EXPECT_NE(extent_of(whole, 4 + 2), expected);
}

TEST(Extent, NothingExceedsTheGreatest) {
  for (const std::uint64_t utterances : {1, 5, 40, 157})
    for (const int max : {0, 3}) {
      const StepSequenceOptions corpus = options(utterances, max);
      const WorkExtent greatest = greatest_extent(corpus);
      const StepSequence sequence(corpus);
      for (int step = 0; step < 60; ++step) {
        const auto batches = sequence.at(step).micro_batches;
        EXPECT_LE(std::ssize(batches), greatest.micro_batches);
        expect_within(extent_of(batches, 37).micro_batch, greatest.micro_batch);
      }
    }
}

TEST(Extent, NothingOfAMixtureExceedsTheGreatest) {
  for (const double weight : {0.2, 4.0, 60.0}) {
    StepSequenceOptions corpus = options(40);
    corpus.data.micro_batch_seconds = 300;  // more than all of them once
    corpus.mixture = Mixture({{"a", 33, 150, 1}, {"b", 7, 30, weight}}, {1.5});
    const WorkExtent greatest = greatest_extent(corpus);
    const StepSequence sequence(corpus);
    for (int step = 0; step < 20; ++step)
      expect_within(extent_of(sequence.at(step).micro_batches, 37).micro_batch,
                    greatest.micro_batch);
  }
}

TEST(Extent, GreatestCoversShortestLongestAndBounds) {
  StepSequenceOptions corpus = options(0);
  corpus.data.speeds = {0.5, 1};
  corpus.lengths = {{16000, 16000}, {32000, 16000}, {48000, 16000}, {144000, 16000}};
  const auto frames = [](double seconds) {
    return shape_utterance(0, {static_cast<std::int64_t>(seconds * 16000), 16000}, 1, {}).frames;
  };
  WorkExtent greatest = greatest_extent(corpus);
  EXPECT_EQ(greatest.micro_batch.longest, frames(18));
  EXPECT_EQ(greatest.micro_batch.utterances, 4);  // 15 s
  EXPECT_EQ(greatest.micro_batch.frames, frames(20));
  corpus.data.micro_batch_utterances = 2;
  corpus.data.micro_batch_seconds = 60;
  greatest = greatest_extent(corpus);
  EXPECT_EQ(greatest.micro_batch.utterances, 2);
  EXPECT_EQ(greatest.micro_batch.frames, frames(18) + frames(6));
}

TEST(Extent, OfManyUtterancesIsTheBound) {
  const StepSequence sequence(options(400));
  EXPECT_EQ(extent_of(sequence, 1'000'000), greatest_extent(options(400)));
}

TEST(Extent, OfNoStepsIsNothing) {
  EXPECT_EQ(extent_of(StepSequence(options(5)), 0), WorkExtent{.micro_batch = {.labels = 37}});
}

}  // namespace
}  // namespace penstock::runtime
