#include "partition/planner/choose/run_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "partition/layout/trained_model.h"
#include "tests/support/partition/chosen_layers.h"

namespace penstock::partition {
namespace {

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

}  // namespace
}  // namespace penstock::partition
