#include "partition/chunk_bytes.h"

#include <gtest/gtest.h>

#include "partition/schedules/make_schedule.h"
#include "tests/support/small_chain.h"

namespace penstock {
namespace {

TEST(ChunkBytes, CountsTheLargestMicroBatchAndThoseInFlight) {
  const Chain chain = test::small_chain();
  const Schedule schedule = make_schedule("1f1b", 2, 3);
  const ChunkBytes bytes(chain, {{8}, {7, 1, 13, 5}}, {}, schedule, {.lanes = 3});
  const StageBytes first = bytes(0, 2, 0), second = bytes(2, 4, 1);
  EXPECT_EQ(first.weights, aligned(4 * 3 * 3 * 4));
  EXPECT_EQ(first.optimizer, 2 * first.weights);
  EXPECT_EQ(first.gradients, 3 * first.weights);
  // As the last of two chunks the same layers keep one micro-batch instead of two.
  EXPECT_EQ(first.saved, 2 * bytes(0, 2, 1).saved);
  // Two posted inputs, 15 frames of 12 channels and 4 loss weights each, and two gradients sent.
  EXPECT_EQ(second.messages,
            2 * (aligned(15 * 12 * 4) + aligned(4 * 4)) + 2 * aligned(15 * 12 * 4));
  const ChunkBytes shorter(chain, {{8}}, {}, schedule, {});
  EXPECT_LT(shorter(0, 2, 0).saved, first.saved);
}

TEST(ChunkBytes, FollowsTheSchedule) {
  const Chain chain = test::small_chain();
  const ChunkBytes gpipe(chain, {{9, 4}}, {}, make_schedule("gpipe", 2, 5), {});
  const ChunkBytes alternating(chain, {{9, 4}}, {}, make_schedule("1f1b", 2, 5), {});
  EXPECT_EQ(2 * gpipe(0, 3, 0).saved, 5 * alternating(0, 3, 0).saved);
}

TEST(ChunkBytes, AsksWhatTheReductionTakes) {
  const Chain chain = test::small_chain();
  const ParameterBytes replicated{.reduction = [](std::size_t arena) { return arena / 2 + 1; }};
  const ChunkBytes bytes(chain, {{8}}, {}, make_schedule("1f1b", 1, 1), replicated);
  const ChunkBytes single(chain, {{8}}, {}, make_schedule("1f1b", 1, 1), {});
  const StageBytes whole = bytes(0, 4, 0);
  EXPECT_EQ(whole.reduction, whole.weights / 2 + 1);
  EXPECT_EQ(whole.total(), single(0, 4, 0).total() + whole.reduction);
}

}  // namespace
}  // namespace penstock
