#include "layers/nn/layer_drop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "layers/backend.h"

namespace penstock::layers {
namespace {

struct LayerDropOf : testing::Test {
  std::vector<double> factors(const LayerDrop& drop, const std::vector<std::uint64_t>& utterances,
                              std::uint64_t seed = 1, std::uint32_t epoch = 0) const {
    const std::vector<std::int64_t> lengths(utterances.size(), 3);
    return drop.factors({.backend = *backend,
                         .stream = *stream,
                         .mode = mode,
                         .lengths = lengths,
                         .random = {seed, epoch, utterances}});
  }
  static std::vector<std::uint64_t> many() {
    std::vector<std::uint64_t> utterances(3001);
    std::iota(utterances.begin(), utterances.end(), 0);
    return utterances;
  }

  std::unique_ptr<Backend> backend = make_cpu_backend();
  std::unique_ptr<Stream> stream = backend->make_stream();
  Mode mode = Mode::train;
};

TEST_F(LayerDropOf, AnUtteranceIsTheSameInAnyPacking) {
  const LayerDrop drop("unit", 0.4);
  const auto all = factors(drop, many());
  for (std::uint64_t utterance : {0, 1, 1500, 3000})
    EXPECT_EQ(factors(drop, {utterance}), std::vector<double>{all[utterance]});
}

TEST_F(LayerDropOf, DependsOnSeedEpochAndUnit) {
  const LayerDrop drop("unit1", 0.4), other("unit2", 0.4);
  const auto values = factors(drop, many());
  EXPECT_EQ(values, factors(drop, many()));
  EXPECT_NE(values, factors(drop, many(), 2));
  EXPECT_NE(values, factors(drop, many(), 1, 1));
  EXPECT_NE(values, factors(other, many()));
}

TEST_F(LayerDropOf, DropsItsShareAndKeepsMeans) {
  const double p = 0.3;
  const auto values = factors(LayerDrop("unit", p), many());
  const auto n = static_cast<double>(values.size());
  const auto dropped = static_cast<double>(std::count(values.begin(), values.end(), 0.0));
  const auto kept = static_cast<double>(std::count(values.begin(), values.end(), 1 / (1 - p)));
  EXPECT_EQ(dropped + kept, n);
  EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST_F(LayerDropOf, NothingInEvaluationOrWithoutAShare) {
  EXPECT_TRUE(factors(LayerDrop("unit", 0), many()).empty());
  mode = Mode::evaluate;
  EXPECT_TRUE(factors(LayerDrop("unit", 0.9), many()).empty());
}

TEST(LayerDrop, AllDroppedNeedsAnUtterance) {
  EXPECT_TRUE(all_dropped(std::vector<double>{0, 0}));
  EXPECT_FALSE(all_dropped(std::vector<double>{0, 2}));
  EXPECT_FALSE(all_dropped({}));
}

TEST_F(LayerDropOf, RejectsWhatItCantDo) {
  EXPECT_THROW(LayerDrop("unit", 1), ShapeError);
  EXPECT_THROW(LayerDrop("unit", -0.1), ShapeError);
  const std::vector<std::int64_t> lengths = {3, 4};
  const std::vector<std::uint64_t> utterances = {1};
  EXPECT_THROW((void)LayerDrop("unit", 0.5)
                   .factors({.backend = *backend,
                             .stream = *stream,
                             .lengths = lengths,
                             .random = {1, 0, utterances}}),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
