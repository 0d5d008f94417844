#include "partition/planner/cost/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "layers/models/conformer.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

TEST(CostModel, OfRatesFollowsTheLengths) {
  const LayerSequence sequence = test::small_sequence();
  const DeviceRates rates = default_rates({});
  const CostModel model = analytic_cost_model(sequence, {}, rates);
  for (const std::vector<std::int64_t>& frames : {std::vector<std::int64_t>{7, 1, 13, 5}, {200}}) {
    const auto found = model({frames}), expected = analytic_costs(sequence, frames, {}, rates);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].layer, expected[i].layer);
      EXPECT_EQ(found[i].forward, expected[i].forward);
      EXPECT_EQ(found[i].total(), expected[i].total());
    }
  }
}

/// The loss walks a lattice of frames and labels; no other layer reads labels.
TEST(CostModel, LabelsCountInTheLoss) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 1}};
  const LayerSequence sequence = build_model(model, 9);
  const CostModel costs = analytic_cost_model(sequence, {}, default_rates({}));
  const std::vector<std::int64_t> frames{1201, 803};
  const auto few = costs({frames, {20, 31}}), more = costs({frames, {200, 131}}),
             unknown = costs({frames});
  for (std::size_t i = 0; i + 1 < few.size(); ++i)
    EXPECT_EQ(few[i].total(), more[i].total()) << few[i].layer;
  EXPECT_GT(few.back().backward_input, 0);
  EXPECT_GT(more.back().forward, few.back().forward);
  EXPECT_GT(more.back().backward_input, few.back().backward_input);
  EXPECT_GT(unknown.back().forward, few.back().forward);  // by about a label each five frames
  // Strides leave 601 frames, and no alignment has more labels.
  EXPECT_EQ(costs({frames, {620, 131}}).back().forward, costs({frames, {700, 131}}).back().forward);
  EXPECT_THROW((void)costs({frames, {20}}), ShapeError);
}

LayerSequence of_two_blocks(const char* recompute) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5}};
  configs::PipelineConfig pipeline;
  pipeline.recompute = recompute;
  return build_model(model, 9, pipeline);
}

TEST(CostModel, RemakingAddsAsMuchAsForwardDoes) {
  const LayerSequence keeping = of_two_blocks("none"), recomputing = of_two_blocks(kSelective);
  const MicroBatchLengths lengths{{61, 23, 40}};
  const CostModel computed = analytic_cost_model(keeping, {}, default_rates({}));
  const CostModel slower = [&](const MicroBatchLengths& of) {
    std::vector<LayerCost> costs = computed(of);
    for (LayerCost& cost : costs) cost.forward *= 3;
    return costs;
  };
  const auto kept = computed(lengths), with = with_recompute(computed, recomputing, {})(lengths),
             longer = with_recompute(slower, recomputing, {})(lengths),
             own = analytic_cost_model(recomputing, {}, default_rates({}))(lengths);
  double max = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_DOUBLE_EQ(with[i].backward_input, own[i].backward_input) << kept[i].layer;
    const double again = own[i].backward_input - kept[i].backward_input;
    EXPECT_NEAR(longer[i].backward_input, kept[i].backward_input + 3 * again, 1e-12);
    max = std::max(max, again);
  }
  EXPECT_GT(max, 0);
  EXPECT_TRUE(recomputes_cheap(recomputing, {}));
  EXPECT_FALSE(recomputes_cheap(keeping, {}));
  EXPECT_FALSE(recomputes_cheap(test::small_sequence(), {}));
}

}  // namespace
}  // namespace penstock::partition
