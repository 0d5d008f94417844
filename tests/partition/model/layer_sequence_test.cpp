#include "partition/model/layer_sequence.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/nn/linear.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

using Lengths = std::vector<std::int64_t>;

TEST(LayerSequence, PlansEveryLayerForTheLengths) {
  const auto plans = plan_layers(test::small_sequence(), Lengths{7, 1, 13, 5}, {});
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[0].output, (layers::ActivationDecl{layers::DType::f32, {{{4, 1, 7, 3}, 12}}}));
  EXPECT_EQ(plans[2].output, (layers::ActivationDecl{layers::DType::f32, {{{4, 1, 7, 3}, 10}}}));
  EXPECT_EQ(plans[3].output.bytes(), layers::aligned(15 * 5 * 4));
}

TEST(LayerSequence, CountsTheFramesThatAreLeft) {
  EXPECT_EQ(output_frames(test::small_sequence(), Lengths{7, 1, 13, 5}), (Lengths{4, 1, 7, 3}));
}

TEST(LayerSequence, RejectsLayersThatDoNotFit) {
  LayerSequence sequence = test::small_sequence();
  sequence.layers.push_back(std::make_unique<layers::Linear>(layers::LinearOptions{"late", 6, 5}));
  EXPECT_THROW(plan_layers(sequence, Lengths{7}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::partition
