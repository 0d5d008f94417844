#include "partition/planner/choose/recompute_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "layers/models/deepspeech2.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cut/limits.h"
#include "tests/support/partition/chosen_layers.h"

namespace penstock::partition {
namespace {

TEST(FreeingBound, TakesWhatFreesMostASecondFirst) {
  const std::vector<double> bytes{6, 0, 10, 3}, seconds{3, 0, 2, 2};
  const FreeingBound bound(bytes, seconds);
  EXPECT_EQ(bound.seconds(0, -4), 0);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 5), 1);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 10), 2);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 14), 2 + 4.0 / 6 * 3);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 19), 7);
  EXPECT_EQ(bound.seconds(0, 19.5), kInfeasible);
  EXPECT_DOUBLE_EQ(bound.seconds(1, 11), 2 + 1.0 / 3 * 2);  // without the first layer
  EXPECT_EQ(bound.seconds(3, 4), kInfeasible);
  EXPECT_EQ(bound.seconds(4, 1), kInfeasible);
  EXPECT_EQ(bound.seconds(5, 1), kInfeasible);  // after a run that ends the chunk
}

TEST(FreeingBound, IsNeverAboveAChoiceOfWholeLayers) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> bytes, seconds;
    for (int i = 0; i < 7; ++i) {
      bytes.push_back(static_cast<double>(random() % 5) * 11);
      seconds.push_back(static_cast<double>(random() % 7));
    }
    const FreeingBound bound(bytes, seconds);
    const int first = static_cast<int>(random() % 7);
    for (unsigned mask = 1; mask < 1U << 7; ++mask) {
      double freed = 0, taken = 0;
      for (int i = first; i < 7; ++i)
        if ((mask >> i & 1) != 0) {
          freed += bytes[i];
          taken += seconds[i];
        }
      EXPECT_LE(bound.seconds(first, freed), taken * (1 + 1e-12));
    }
  }
}

/// For every choice of a chunk's layers what ChunkSizes says and what laying it out says.
TEST(ChunkSizes, AreThoseOfTheLayout) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  for (const auto& [schedule, first, last, chunk] : test::chunks_to_choose_from()) {
    const ChunkBytes none = test::bytes_with(sequence, schedule, {});
    const ChunkSizes sizes(none.training(first, last, chunk));
    const auto kept = static_cast<double>(none(first, last, chunk).total());
    for (int mask = 0; mask < 1 << (last - first); ++mask) {
      const ChosenLayers chosen = test::chosen_by(mask, first, last, sequence.size());
      const double laid_out =
          static_cast<double>(
              test::bytes_with(sequence, schedule, chosen)(first, last, chunk).total()) -
          kept;
      RunSizes all;
      for (const LayerRun& run : runs_of(chosen_among(chosen, first, last)))
        all = sizes.joined(all, sizes.of(run));
      for (int i = 1; i < last - first; ++i)
        if ((mask >> i & 1) == 0 && (mask >> (i - 1) & 1) == 0)
          all = sizes.joined(all, sizes.without({i, i + 1}));
      ASSERT_EQ(sizes.change(all, mask > 0), laid_out) << schedule << ", " << mask;
    }
  }
}

/// The bytes of a random choice of layers [first, last), the first and the one before not chosen.
RunSizes sampled(const ChunkSizes& sizes, int first, int last, std::mt19937& random) {
  RunSizes all;
  for (int i = first; i < last; ++i) {
    if (random() % 2 == 0) {
      all = sizes.joined(all, sizes.without({i, i + 1}));
      continue;
    }
    const int end = std::min<int>(last, i + 1 + static_cast<int>(random() % 3));
    all = sizes.joined(all, sizes.of({i, end}));
    i = end;  // not chosen
  }
  return all;
}

TEST(ChunkSizes, NeverMoreMeansSoWhateverFollows) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  std::mt19937 random(11);
  int never = 0, made_up_for = 0;
  for (const auto& [schedule, first, last, chunk] : test::chunks_to_choose_from()) {
    const ChunkSizes sizes(test::bytes_with(sequence, schedule, {}).training(first, last, chunk));
    const int layers = last - first, middle = layers / 2;
    for (int round = 0; round < 400; ++round) {
      const RunSizes one = sampled(sizes, 0, middle, random),
                     other = sampled(sizes, 0, middle, random);
      if (!sizes.never_more(one, other)) continue;
      ++never;
      made_up_for += one.slot > other.slot || one.recomputed > other.recomputed ||
                     one.again > other.again || one.once > other.once;
      for (int behind = 0; behind < 40; ++behind) {
        const RunSizes rest = sampled(sizes, middle + 1, layers, random);
        EXPECT_LE(sizes.change(sizes.joined(one, rest), true),
                  sizes.change(sizes.joined(other, rest), true))
            << schedule;
      }
    }
  }
  EXPECT_GT(never, 500);
  EXPECT_GT(made_up_for, 50);
}

TEST(ChunkSizes, MostFreedBoundsWhatLayersFree) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  for (const auto& [schedule, first, last, chunk] : test::chunks_to_choose_from()) {
    const ChunkSizes sizes(test::bytes_with(sequence, schedule, {}).training(first, last, chunk));
    const double nothing = std::min(sizes.change({}, true), sizes.change({}, false));
    for (int begin = 0; begin < sizes.layers(); ++begin)
      for (int end = begin + 1; end <= sizes.layers(); ++end) {
        double max = 0;
        for (int i = begin; i < end; ++i) max += sizes.max_freed(i);
        EXPECT_GE(sizes.change(sizes.of({begin, end}), true), nothing - max) << schedule;
      }
  }
}

TEST(ChunkSizes, ChoosingFrozenLayersFreesNothing) {
  configs::Config config;
  config.model = {.features = 17,
                  .family = layers::DeepSpeech2Options{
                      .channels = 2, .hidden = 7, .layers = 2, .dropout = 0.1}};
  config.optimizer.freeze = {"conv*", "norm?.*", "rnn1*"};
  const LayerSequence sequence = build_trained_model(config, 9);
  const auto plans = plan_without_frames(sequence, {});
  int frozen = 0;
  for (const auto& [schedule, first, last, chunk] : test::chunks_to_choose_from()) {
    const ChunkSizes sizes(test::bytes_with(sequence, schedule, {}).training(first, last, chunk));
    for (int end = 1; end <= sizes.layers() && !plans[first + end - 1].runs_backward(); ++end) {
      const RunSizes all =
          sizes.joined(sizes.of({0, end}), sizes.without({end + 1, sizes.layers()}));
      EXPECT_GE(sizes.change(all, true), 0) << schedule << ", " << end;
      ++frozen;
    }
  }
  EXPECT_GT(frozen, 10);
}

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
    const std::vector<ChunkLoad> loads{{{{{861, 523, 740, 1201}}}, make_schedule(schedule, 4, 8)},
                                       {{{{1500, 1400, 1300}}}, forward_only({0, 1, 2, 3}, 4)}};
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
      // A choice that comes close takes layer after layer by bytes a second.
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
      {{{{861, 523, 740, 1201}}}, make_schedule("zb-h1", 4, 8)},
      {{{std::vector<std::int64_t>(40, 1500)}}, forward_only({0, 1, 2, 3}, 4)}};
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

// No exact choice is looked for among hundreds of layers: the candidate still fits, and costs
// no more than all layers.
TEST(RecomputeSearch, FindsWhatFitsInLongSequences) {
  std::mt19937 random(7);
  const LayerSequence sequence = unlike_layers(90, random);
  const std::vector<ChunkLoad> loads{{{{{61, 23, 40}}}, make_schedule("1f1b", 4, 8)}};
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
