#include "partition/cost/cost_model.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock::partition
