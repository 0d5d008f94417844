#include "partition/planner/cost/step_costs.h"

#include <gtest/gtest.h>

#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

TEST(StepCosts, HoldEveryMicroBatchsCostsAndMessageBytes) {
  const LayerSequence sequence = test::small_sequence();
  const CostModel model = analytic_cost_model(sequence, {}, default_rates({}));
  const std::vector<MicroBatchLengths> ragged{{{7, 1, 13, 5}}, {{9, 3, 3}}};
  const StepCosts step = step_costs(sequence, {}, model, ragged);
  ASSERT_EQ(step.micro_batches(), 2);
  for (std::size_t m = 0; m < 2; ++m) {
    const auto own = model(ragged[m]);
    for (std::size_t layer = 0; layer < 4; ++layer)
      EXPECT_EQ(step.layers[m][layer].total(), own[layer].total()) << m << ", " << layer;
  }
  // 4 + 1 + 7 + 3 frames leave the convolution, with 12 channels and 4 weights after them.
  EXPECT_EQ(step.bytes[0][0], layers::aligned(15 * 12 * 4) + layers::aligned(4 * 4));
  EXPECT_EQ(step.bytes[1][2], layers::aligned(9 * 10 * 4) + layers::aligned(3 * 4));
  EXPECT_TRUE(step.reading.empty());
}

TEST(MessageCache, AreThoseOfTheStepWorkedOutOnce) {
  const LayerSequence sequence = test::small_sequence();
  const CostModel model = analytic_cost_model(sequence, {}, default_rates({}));
  const std::vector<MicroBatchLengths> ragged{{{7, 1, 13, 5}}, {{9, 3, 3}}, {{9, 3}}};
  const StepCosts step = step_costs(sequence, {}, model, ragged);
  MessageCache known;
  for (std::size_t m = 0; m < ragged.size(); ++m) {
    const auto& bytes = known.of(sequence, {}, ragged[m]);
    EXPECT_EQ(bytes, step.bytes[m]);
    EXPECT_EQ(&known.of(sequence, {}, ragged[m]), &bytes);
  }
}

}  // namespace
}  // namespace penstock::partition
