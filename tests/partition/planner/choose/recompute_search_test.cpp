#include "partition/planner/choose/recompute_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "layers/models/deepspeech2.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/clipped_relu.h"
#include "layers/nn/dropout.h"
#include "layers/nn/linear.h"
#include "partition/planner/cut/limits.h"
#include "tests/support/partition/chosen_layers.h"

namespace penstock::partition {
namespace {

/// Bytes of every choice of a chunk's layers.
std::vector<double> bytes_of_choices(const LayerSequence& sequence, const test::ChunkAt& at) {
  std::vector<double> bytes;
  for (int mask = 0; mask < 1 << (at.last - at.first); ++mask)
    bytes.push_back(static_cast<double>(
        test::bytes_with(sequence, at.schedule,
                         test::chosen_by(mask, at.first, at.last, sequence.size()))(
            at.first, at.last, at.chunk)
            .total()));
  return bytes;
}

double seconds_of(const std::vector<double>& forward, unsigned mask, int first) {
  double seconds = 0;
  for (int i = 0; mask >> i != 0; ++i)
    if ((mask >> i & 1) != 0) seconds += forward[first + i];
  return seconds;
}

TEST(RecomputeSearch, EqualsTryingAllChoices) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  std::mt19937 random(5);
  int partial = 0, infeasible = 0, below_all = 0, tried = 0;
  for (const test::ChunkAt& at : test::chunks_to_choose_from()) {
    const std::vector<double> bytes = bytes_of_choices(sequence, at);
    const double min = std::ranges::min(bytes), kept = bytes.front();
    for (int round = 0; round < 60; ++round) {
      std::vector<double> forward;
      for (int i = 0; i < sequence.size(); ++i)
        forward.push_back(1 + static_cast<double>(random() % 9));
      const double limit = min + (kept - min) * (static_cast<double>(random() % 120) - 10) / 100;
      double best = kInfeasible;
      for (unsigned mask = 0; mask < bytes.size(); ++mask)
        if (bytes[mask] <= limit) best = std::min(best, seconds_of(forward, mask, at.first));

      const ChunkBytes none = test::bytes_with(sequence, at.schedule, {});
      RecomputeSearch search(none, forward);
      const auto& found = search.within(at.first, at.last, at.chunk, limit);
      ++tried;
      infeasible += best == kInfeasible;
      ASSERT_EQ(found.has_value(), best < kInfeasible) << at.schedule << ", " << limit;
      if (!found) continue;
      EXPECT_TRUE(found->exact);
      unsigned mask = 0;
      for (std::size_t i = 0; i < found->layers.size(); ++i)
        mask |= static_cast<unsigned>(found->layers[i]) << i;
      EXPECT_LE(bytes[mask], limit);
      EXPECT_DOUBLE_EQ(seconds_of(forward, mask, at.first), best);
      EXPECT_DOUBLE_EQ(found->seconds, best) << at.schedule << ", " << limit;
      partial += mask != 0 && mask + 1 != bytes.size();
      below_all += bytes[mask] < bytes.back();
    }
  }
  EXPECT_GT(partial, tried / 3);
  EXPECT_GT(infeasible, 5);
  EXPECT_GT(below_all, 0);  // some layers, yet less memory than with all
}

/// `layers` of odd and unlike sizes.
LayerSequence unlike_layers(int layers, std::mt19937& random) {
  LayerSequence sequence{.layers = {}, .features = 161};
  std::int64_t width = 161;
  for (int i = 0; i < layers; ++i) {
    const std::string name = std::to_string(i);
    const std::int64_t out = 101 + static_cast<std::int64_t>(random() % 900);
    switch (random() % 4) {
      case 0:
        sequence.layers.push_back(
            std::make_unique<layers::Linear>(layers::LinearOptions{name, width, out}));
        width = out;
        break;
      case 1:
        sequence.layers.push_back(std::make_unique<layers::BatchNorm>(
            layers::BatchNormOptions{.name = name, .channels = width}));
        break;
      case 2:
        sequence.layers.push_back(std::make_unique<layers::ClippedReLU>(name));
        break;
      default:
        sequence.layers.push_back(std::make_unique<layers::Dropout>(name, 0.1));
    }
  }
  return sequence;
}

std::vector<double> unlike_seconds(int layers, std::mt19937& random) {
  std::vector<double> seconds;
  for (int i = 0; i < layers; ++i)
    seconds.push_back(std::uniform_real_distribution<double>(0.5, 1.5)(random));
  return seconds;
}

/// Bytes between those of a chunk with all layers chosen and with none.
double limit_at(double share, const LayerSequence& sequence, const std::vector<ChunkLoad>& loads) {
  std::vector<ChunkLoad> again = loads;
  again.front().recomputes = ChosenLayers(sequence.size(), true);
  const auto total = [&](const std::vector<ChunkLoad>& of) {
    return static_cast<double>(ChunkBytes(sequence, of, {}, {})(0, sequence.size(), 0).total());
  };
  return (1 - share) * total(again) + share * total(loads);
}

// Measured seconds never repeat, so that hardly a label is like another.
TEST(RecomputeSearch, StaysExactWhereAllSecondsDiffer) {
  const configs::ModelConfig model{
      .family = layers::DeepSpeech2Options{.hidden = 801, .layers = 12, .dropout = 0.1}};
  const LayerSequence sequence = build_model(model, 29);
  ASSERT_GT(sequence.size(), 50);
  std::mt19937 random(5);
  for (const char* schedule : {"1f1b", "zb-h2"}) {
    const std::vector<ChunkLoad> loads{{{{861, 523, 740, 1201}}, make_schedule(schedule, 4, 8)},
                                       {{{1500, 1400, 1300}}, forward_only({0, 1, 2, 3}, 4)}};
    const ChunkBytes none(sequence, loads, {}, {});
    for (const double share : {0.1, 0.4}) {
      const double limit = limit_at(share, sequence, loads);
      const std::vector<double> forward = unlike_seconds(sequence.size(), random);
      RecomputeSearch search(none, forward);
      const auto& found = search.within(0, sequence.size(), 0, limit);
      ASSERT_TRUE(found) << schedule;
      EXPECT_TRUE(found->exact) << schedule;
      std::vector<ChunkLoad> chosen = loads;
      chosen.front().recomputes = found->layers;
      EXPECT_LE(ChunkBytes(sequence, chosen, {}, {})(0, sequence.size(), 0).total(), limit);
      // Of choices that come close at once, taking layer after layer by bytes a second.
      double greedy = 0;
      chosen.front().recomputes.assign(sequence.size(), true);
      for (int i = 0; i < sequence.size(); ++i) {
        chosen.front().recomputes[i] = false;
        if (static_cast<double>(
                ChunkBytes(sequence, chosen, {}, {})(0, sequence.size(), 0).total()) > limit) {
          chosen.front().recomputes[i] = true;
          greedy += forward[i];
        }
      }
      EXPECT_LT(found->seconds, greedy);
    }
  }
}

// Evaluations with longer utterances than training hold what is freed: labels do not compare.
TEST(RecomputeSearch, SaysWhereLabelsWereDropped) {
  std::mt19937 random(5);
  const LayerSequence sequence = unlike_layers(45, random);
  const std::vector<ChunkLoad> loads{
      {{{861, 523, 740, 1201}}, make_schedule("zb-h1", 4, 8)},
      {{std::vector<std::int64_t>(40, 1500)}, forward_only({0, 1, 2, 3}, 4)}};
  const ChunkBytes none(sequence, loads, {}, {});
  RecomputeSearch search(none, unlike_seconds(sequence.size(), random));
  const double limit = limit_at(0.1, sequence, loads);
  const auto& found = search.within(0, sequence.size(), 0, limit);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->exact);
  std::vector<ChunkLoad> chosen = loads;
  chosen.front().recomputes = found->layers;
  EXPECT_LE(ChunkBytes(sequence, chosen, {}, {})(0, sequence.size(), 0).total(), limit);
}

// Of hundreds of layers no exact choice is looked for: what is chosen fits all the same, and costs
// no more than all layers.
TEST(RecomputeSearch, FindsWhatFitsInLongSequences) {
  std::mt19937 random(7);
  const LayerSequence sequence = unlike_layers(90, random);
  const std::vector<ChunkLoad> loads{{{{61, 23, 40}}, make_schedule("1f1b", 4, 8)}};
  const ChunkBytes none(sequence, loads, {}, {});
  const std::vector<double> forward = unlike_seconds(sequence.size(), random);
  double all = 0;
  for (const double seconds : forward) all += seconds;
  double before = all;
  for (const double share : {0.1, 0.4, 0.8}) {  // of what recomputation can free is kept
    const double limit = limit_at(share, sequence, loads);
    RecomputeSearch search(none, forward);
    const auto& found = search.within(0, sequence.size(), 0, limit);
    ASSERT_TRUE(found) << share;
    EXPECT_FALSE(search.exact());
    std::vector<ChunkLoad> chosen = loads;
    chosen.front().recomputes = found->layers;
    EXPECT_LE(ChunkBytes(sequence, chosen, {}, {})(0, sequence.size(), 0).total(), limit) << share;
    EXPECT_GT(found->seconds, 0);
    EXPECT_LT(found->seconds, before) << share;
    before = found->seconds;
  }
}

}  // namespace
}  // namespace penstock::partition
