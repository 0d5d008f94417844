#include "partition/layout/layer_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layers/models/conformer.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cost/cost.h"

namespace penstock::partition {
namespace {

std::vector<LayerSequence> sequences() {
  std::vector<LayerSequence> all;
  const layers::ConformerOptions conformer{.width = 12, .heads = 3, .layers = 3, .kernel = 5};
  all.push_back(build_model({.features = 17, .family = conformer}, 9, {}));
  layers::DeepSpeech2Options recurrent;
  recurrent.hidden = 10;
  recurrent.layers = 3;
  all.push_back(build_model({.features = 17, .family = recurrent}, 9, {}));
  return all;
}

TEST(LayerKinds, CountEqualBlocksOnce) {
  for (const LayerSequence& sequence : sequences()) {
    const std::vector<int> kinds = layer_kinds(sequence, {});
    ASSERT_EQ(std::ssize(kinds), sequence.size());
    EXPECT_EQ(kinds.front(), 0);
    EXPECT_LT(std::ranges::max(kinds) + 1, sequence.size());
    EXPECT_EQ(std::ranges::count(kinds, kinds.back()), 1);  // the loss
  }
}

TEST(LayerKinds, CostAsEachByItself) {
  for (const LayerSequence& sequence : sequences())
    for (const std::vector<std::int64_t>& lengths :
         std::vector<std::vector<std::int64_t>>{{61}, {127, 40}, {300, 299, 77}}) {
      const DeviceRates rates = default_rates({});
      const auto each = analytic_costs(sequence, lengths, {}, rates);
      const auto kinds = layer_kinds(sequence, {});
      const auto once = analytic_costs(sequence, lengths, {}, rates, {}, kinds);
      ASSERT_EQ(once.size(), each.size());
      for (std::size_t i = 0; i < each.size(); ++i) {
        EXPECT_EQ(once[i].layer, each[i].layer);
        EXPECT_EQ(once[i].forward, each[i].forward) << each[i].layer;
        EXPECT_EQ(once[i].backward_input, each[i].backward_input) << each[i].layer;
        EXPECT_EQ(once[i].backward_weight, each[i].backward_weight) << each[i].layer;
      }
    }
}

}  // namespace
}  // namespace penstock::partition
