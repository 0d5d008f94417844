#include "partition/layout/chunk_bytes.h"

#include <gtest/gtest.h>

#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

// Blocks in the table, sums and magnitudes of the layer sequence's five parameters, and the result.
constexpr std::size_t of_norms(std::size_t parameters) {
  return parameters * sizeof(layers::ArenaBlock) + 5 * 2 * sizeof(double) +
         2 * sizeof(layers::GradientNormResult);
}

TEST(ChunkBytes, CountsTheLargestMicroBatchTimesInFlight) {
  const LayerSequence sequence = test::small_sequence();
  const Schedule schedule = make_schedule("1f1b", 2, 3);
  const ChunkBytes bytes(sequence, {{{{{8}}, {{7, 1, 13, 5}}}, schedule}}, {}, {.lanes_of = {3}});
  const StageBytes first = bytes(0, 2, 0), second = bytes(2, 4, 1);
  EXPECT_EQ(first.weights, layers::aligned(4 * 3 * 3 * 4));
  EXPECT_EQ(first.optimizer, 2 * first.weights + of_norms(1));
  EXPECT_EQ(first.gradients, 3 * first.weights);
  EXPECT_EQ(first.reduction, 0u);
  // The same layers keep one micro-batch instead of two where they are the last of the two chunks.
  EXPECT_EQ(first.saved, 2 * bytes(0, 2, 1).saved);
  // Two posted inputs, 15 frames of 12 channels and 4 loss weights each, and two gradients sent.
  EXPECT_EQ(second.messages, 2 * (layers::aligned(15 * 12 * 4) + layers::aligned(4 * 4)) +
                                 2 * layers::aligned(15 * 12 * 4));
  const ChunkBytes shorter(sequence, {{{{{8}}}, schedule}}, {}, {});
  EXPECT_LT(shorter(0, 2, 0).saved, first.saved);
}

TEST(ChunkBytes, FollowsTheSchedule) {
  const LayerSequence sequence = test::small_sequence();
  const ChunkBytes gpipe(sequence, {{{{{9, 4}}}, make_schedule("gpipe", 2, 5)}}, {}, {});
  const ChunkBytes alternating(sequence, {{{{{9, 4}}}, make_schedule("1f1b", 2, 5)}}, {}, {});
  EXPECT_EQ(2 * gpipe(0, 3, 0).saved, 5 * alternating(0, 3, 0).saved);
}

TEST(ChunkBytes, LetsTrainingAndEvaluationTakeTurns) {
  const LayerSequence sequence = test::small_sequence();
  const ChunkLoad training{{{{9, 4}}}, make_schedule("1f1b", 2, 5)};
  const ChunkLoad alike{{{{9, 4}}}, forward_only({0, 1}, 5)};
  const ChunkLoad longer{{{{900, 400}}}, forward_only({0, 1}, 5)};
  const auto bytes = [&](const std::vector<ChunkLoad>& loads) {
    return ChunkBytes(sequence, loads, {}, {})(2, 4, 1);
  };
  const StageBytes trained = bytes({training}), evaluated = bytes({longer});
  EXPECT_EQ(bytes({training, alike}), trained);
  EXPECT_GT(evaluated.scratch, trained.scratch);
  const StageBytes both = bytes({training, longer});
  EXPECT_EQ(both.scratch, evaluated.scratch);
  EXPECT_EQ(both.saved, std::max(trained.saved, evaluated.saved));
  // Longer inputs beside the gradients that an evaluation does not send.
  EXPECT_EQ(both.messages, evaluated.messages + 2 * layers::aligned(7 * 12 * 4));
}

TEST(ChunkBytes, CountsWhatIsKeptForEachNeighbour) {
  const LayerSequence sequence = test::small_sequence();
  const ChunkLoad load{{{{9, 4}}}, make_schedule("1f1b", 3, 5)};
  const ChunkBytes bytes(sequence, {load}, {}, {}), kept(sequence, {load}, {}, {}, 1000, 7);
  EXPECT_EQ(kept(0, 2, 0).messages, bytes(0, 2, 0).messages + 1007);
  EXPECT_EQ(kept(1, 2, 1).messages, bytes(1, 2, 1).messages + 2007);
  EXPECT_EQ(kept(0, 4, 0).messages, bytes(0, 4, 0).messages + 7);
}

TEST(ChunkBytes, CombineTheChunksOfARank) {
  const LayerSequence sequence = test::small_sequence();
  const ChunkLoad load{{{{9, 4}}, {{8}}}, make_schedule("zb-v", 2, 5)};
  const ChunkBytes bytes(sequence, {load}, {}, {}, 1000, 7);
  const std::vector<ChunkRange> outer{{0, 1, 0}, {3, 4, 3}}, inner{{1, 2, 1}, {2, 3, 2}};
  const StageBytes first = bytes(0, 1, 0), last = bytes(3, 4, 3), both = bytes(outer);
  EXPECT_EQ(both.weights, first.weights + last.weights);
  EXPECT_EQ(both.gradients, first.gradients + last.gradients);
  EXPECT_EQ(both.saved, first.saved + last.saved);
  EXPECT_EQ(both.messages, first.messages + last.messages - 7);
  EXPECT_EQ(both.scratch, std::max(first.scratch, last.scratch));
  EXPECT_EQ(both.optimizer, first.optimizer + last.optimizer - of_norms(0));
  // Between the two in the middle nothing is sent.
  EXPECT_EQ(bytes(inner).messages, bytes(1, 2, 1).messages + bytes(2, 3, 2).messages - 2007);
}

TEST(ChunkBytes, AsksWhatTheReductionTakes) {
  const LayerSequence sequence = test::small_sequence();
  const ParameterBytes replicated{.reduction = [](const ParameterLayout& layout) {
    return std::vector<std::size_t>{layout.arena / 2 + 1};
  }};
  const ChunkBytes bytes(sequence, {}, {}, replicated);
  const StageBytes whole = bytes(0, 4, 0);
  EXPECT_EQ(whole.reduction, whole.weights / 2 + 1);
  EXPECT_EQ(whole.total(), 4 * whole.weights + of_norms(5) + whole.state + whole.reduction);
}

}  // namespace
}  // namespace penstock::partition
