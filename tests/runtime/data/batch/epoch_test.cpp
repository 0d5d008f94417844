#include "runtime/data/batch/epoch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "runtime/data/batch/sample_hash.h"
#include "tests/runtime/data/audio/ragged_audio.h"

namespace penstock::runtime {
namespace {

std::int64_t largest(const std::vector<MicroBatch>& batches) {
  std::int64_t frames = 0;
  for (const MicroBatch& batch : batches) frames = std::max(frames, batch.frames());
  return frames;
}

/// An epoch formed plainly, as its definition says: every utterance with all that it is sorted by.
std::vector<MicroBatch> formed_plainly(const Lengths& lengths, const configs::DataConfig& data,
                                       const configs::FeatureConfig& features, const EpochKey& key,
                                       const Mixture& mixture = {}) {
  const auto epoch = static_cast<std::uint64_t>(key.epoch);
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, BatchUtterance>> sorted;
  const EpochDraws draws(mixture, lengths.size(), key);
  for (std::uint64_t number = 0; number < draws.size(); ++number) {
    const auto [id, repeat] = draws.at(number);
    const std::uint64_t drawn = id + (std::uint64_t{repeat} << 32);
    const std::uint64_t random = sample_hash(SampleKind::speed, key.seed, {epoch, drawn});
    auto utterance =
        shape_utterance(id, lengths[id], data.speeds[random % data.speeds.size()], features);
    utterance.repeat = repeat;
    const std::uint64_t bits = sample_hash(SampleKind::length_jitter, key.seed, {epoch, drawn});
    sorted.emplace_back(static_cast<std::uint64_t>(utterance.frames) * (1024 + bits % 128), bits,
                        number, utterance);
  }
  std::ranges::sort(sorted, {}, [](const auto& item) {
    return std::tuple(std::get<0>(item), std::get<1>(item), std::get<2>(item));
  });
  std::vector<BatchUtterance> utterances;
  for (const auto& item : sorted) utterances.push_back(std::get<3>(item));
  std::vector<MicroBatch> batches = cut_evenly(utterances, micro_batch_bounds(data, features));
  std::int64_t sorted_ones = key.epoch == 0 ? data.short_first : 0;
  if (sorted_ones < 0 || sorted_ones > std::ssize(batches)) sorted_ones = std::ssize(batches);
  const auto shuffled = std::span(batches).subspan(static_cast<std::size_t>(sorted_ones));
  std::ranges::sort(shuffled, {}, [&](const MicroBatch& batch) {
    const BatchUtterance& front = batch.utterances.front();
    const std::uint64_t first = front.id + (std::uint64_t{front.repeat} << 32);
    return std::pair(sample_hash(SampleKind::order, key.seed, {epoch, first}), first);
  });
  return batches;
}

TEST(Epoch, IsAsItsDefinitionSays) {
  const Lengths equal = std::vector<AudioLength>(777, {16001, 16000});
  for (const Lengths& lengths : {Lengths(ragged_lengths(1237)), equal, Lengths()})
    for (const std::int64_t number : {0, 3}) {
      const EpochKey key{5, number};
      const auto batches = training_batches(lengths, with_speeds(), {}, key);
      EXPECT_EQ(batches, formed_plainly(lengths, with_speeds(), {}, key));
      const Epoch epoch(lengths, with_speeds(), {}, key);
      ASSERT_EQ(epoch.size(), batches.size());
      for (std::size_t b = 0; b < batches.size(); ++b)
        EXPECT_EQ(epoch.frames(b), batches[b].frames());
    }
}

TEST(Epoch, OfAMixtureIsAsItsDefinitionSays) {
  const Lengths lengths = ragged_lengths(700);
  const Mixture mixture({{"a", 500, 3000, 0.3}, {"b", 150, 900, 2}, {"c", 50, 300, 4}}, {2});
  for (const std::int64_t number : {0, 1, 12}) {
    const EpochKey key{5, number};
    const auto batches = training_batches(lengths, with_speeds(), {}, key, mixture);
    EXPECT_EQ(batches, formed_plainly(lengths, with_speeds(), {}, key, mixture));
    std::uint64_t utterances = 0;
    for (const MicroBatch& batch : batches) utterances += batch.utterances.size();
    EXPECT_EQ(utterances, EpochDraws(mixture, 700, key).size());
  }
}

/// The first epoch begins with its shortest, and other epochs are as ever.
TEST(Epoch, BeginsWithItsShortest) {
  const Lengths lengths = ragged_lengths(1237);
  configs::DataConfig data = with_speeds();
  const auto shuffled = training_batches(lengths, data, {}, {5, 0});
  const std::int64_t all = std::ssize(shuffled);
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{7}, all + 5, std::int64_t{-1}}) {
    data.short_first = count;
    const auto batches = training_batches(lengths, data, {}, {5, 0});
    EXPECT_EQ(batches, formed_plainly(lengths, data, {}, {5, 0})) << count;
    EXPECT_TRUE(std::ranges::is_permutation(batches, shuffled)) << count;
    EXPECT_EQ(training_batches(lengths, data, {}, {5, 1}),
              training_batches(lengths, with_speeds(), {}, {5, 1}));
    // No utterance is shorter than one of an earlier micro-batch by more than the jitter.
    std::int64_t longest = 0;
    for (std::int64_t b = 0; b < all; ++b) {
      for (const BatchUtterance& utterance : batches[static_cast<std::size_t>(b)].utterances) {
        EXPECT_GE(9 * utterance.frames, 8 * longest) << b;
        longest = std::max(longest, b < count || count < 0 ? utterance.frames : std::int64_t{0});
      }
    }
    const Epoch epoch(lengths, data, {}, {5, 0});
    EXPECT_EQ(Epoch(lengths, data, {}, {5, 0}, {}, epoch.bytes()).at(3), batches[3]);
  }
}

/// The numbers of draws reach every utterance of the micro-batches, once and as it is there.
TEST(Epoch, HasItsDrawsByNumber) {
  const Mixture mixture({{"a", 500, 3000, 0.3}, {"b", 150, 900, 2}, {"c", 50, 300, 4}}, {2});
  for (const Mixture& drawn_from : {Mixture(), mixture}) {
    const Epoch epoch(ragged_lengths(700), with_speeds(), {}, {5, 2}, drawn_from);
    std::vector<BatchUtterance> in_batches, by_number;
    for (std::size_t b = 0; b < epoch.size(); ++b)
      std::ranges::copy(epoch.at(b).utterances, std::back_inserter(in_batches));
    for (std::uint64_t number = 0; number < epoch.draws(); ++number)
      by_number.push_back(epoch.drawn(number));
    if (drawn_from.empty()) {
      EXPECT_EQ(by_number[33].id, 33u);
    }
    const auto key = [](const BatchUtterance& draw) { return std::pair(draw.id, draw.repeat); };
    std::ranges::sort(in_batches, {}, key);
    std::ranges::sort(by_number, {}, key);
    EXPECT_EQ(by_number, in_batches);
  }
}

/// Recorded when epochs had one manifest: runs go on with the same bits.
TEST(Epoch, OfOneManifestIsAsItAlwaysWas) {
  std::uint64_t digest = 0;
  for (const MicroBatch& batch : training_batches(ragged_lengths(1237), with_speeds(), {}, {5, 3}))
    for (const BatchUtterance& utterance : batch.utterances)
      digest = sample_hash(SampleKind::order, digest,
                           {utterance.id, static_cast<std::uint64_t>(utterance.frames)});
  EXPECT_EQ(digest, 0xf916cea907409299u);
}

TEST(Epoch, RepeatsHaveSpeedsOfTheirOwn) {
  const Mixture mixture({{"a", 1000, 3000, 0.1}, {"b", 100, 300, 2}}, {1000});
  std::map<std::uint64_t, std::set<double>> speeds;
  for (const MicroBatch& batch :
       training_batches(ragged_lengths(1100), with_speeds(), {}, {5, 0}, mixture))
    for (const BatchUtterance& utterance : batch.utterances)
      speeds[utterance.id].insert(utterance.speed);
  // Each of b comes ten times: it lacks one of three speeds with a chance of 3 × (2/3)^10 = 5 %.
  int all_speeds = 0;
  for (std::uint64_t id = 1000; id < 1100; ++id) all_speeds += speeds[id].size() == 3;
  EXPECT_GT(all_speeds, 80);
}

/// Lengths of 41 bits leave no room for an id beside all that they are sorted by.
TEST(Epoch, SortsTheLongestTimesToo) {
  std::vector<AudioLength> lengths;
  for (std::int64_t i = 0; i < 9001; ++i)
    lengths.push_back({(std::int64_t{1} << 40) - 1 - i * i % 701, 16000});
  configs::DataConfig data;
  data.speeds = {0.5, 1};
  configs::FeatureConfig features;
  features.kind = "waveform";
  EXPECT_EQ(training_batches(lengths, data, features, {5, 1}),
            formed_plainly(lengths, data, features, {5, 1}));
}

TEST(TrainingBatches, HoldEachUtteranceOnceWithinTheBounds) {
  const auto lengths = ragged_lengths(1237);
  configs::DataConfig data = with_speeds();
  data.micro_batch_utterances = 9;
  const MicroBatchBounds bounds = micro_batch_bounds(data, {});
  for (const std::int64_t epoch : {0, 1, 17}) {
    const auto batches = training_batches(lengths, data, {}, {5, epoch});
    expect_each_once(batches, lengths.size());
    EXPECT_LE(largest(batches), bounds.frames);
    for (const MicroBatch& batch : batches)
      EXPECT_LE(std::ssize(batch.utterances), bounds.utterances);
  }
}

TEST(TrainingBatches, AreEven) {
  const auto batches = training_batches(ragged_lengths(1237), with_speeds(), {}, {5, 0});
  std::int64_t total = 0;
  for (const MicroBatch& batch : batches) total += batch.frames();
  const double mean = static_cast<double>(total) / static_cast<double>(batches.size());
  // The longest utterance, 12.3 s at speed 0.9, is what a cut can be off by.
  EXPECT_LE(static_cast<double>(largest(batches)), mean + 1370);
}

TEST(TrainingBatches, GroupUtterancesOfSimilarLength) {
  for (const MicroBatch& batch : training_batches(ragged_lengths(1237), {}, {}, {5, 0})) {
    std::int64_t shortest = INT64_MAX, longest = 0;
    for (const BatchUtterance& utterance : batch.utterances) {
      shortest = std::min(shortest, utterance.frames);
      longest = std::max(longest, utterance.frames);
    }
    // An eighth of jitter, and as much again between neighbours where lengths are sparse.
    EXPECT_LE(longest, shortest + shortest / 4 + 100);
  }
}

TEST(TrainingBatches, DependOnSeedAndEpochAlone) {
  const auto lengths = ragged_lengths(301);
  const auto batches = training_batches(lengths, with_speeds(), {}, {5, 3});
  EXPECT_EQ(batches, training_batches(lengths, with_speeds(), {}, {5, 3}));
  EXPECT_NE(batches, training_batches(lengths, with_speeds(), {}, {5, 4}));
  EXPECT_NE(batches, training_batches(lengths, with_speeds(), {}, {6, 3}));
}

TEST(TrainingBatches, AreTheSameOnEveryMachine) {
  // Recorded once; another value means that runs cannot be continued across versions.
  EXPECT_EQ(sample_hash(SampleKind::speed, 1, {2, 3}), 0x6b360221edd5a20au);
}

TEST(TrainingBatches, SampleEverySpeedAboutAsOften) {
  std::map<double, int> count;
  for (const MicroBatch& batch : training_batches(ragged_lengths(3000), with_speeds(), {}, {5, 0}))
    for (const BatchUtterance& utterance : batch.utterances) ++count[utterance.speed];
  ASSERT_EQ(count.size(), 3u);
  // Binomial with deviation sqrt(3000 × 1/3 × 2/3) = 26: five of them.
  for (const auto& [speed, times] : count) EXPECT_NEAR(times, 1000, 130) << speed;
}

}  // namespace
}  // namespace penstock::runtime
