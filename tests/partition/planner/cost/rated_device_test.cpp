#include "partition/planner/cost/rated_device.h"

#include <gtest/gtest.h>

#include <string>

#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cost/cost.h"

namespace penstock::partition {
namespace {

using layers::DeviceKind, layers::DType, layers::Fp32Products;

RatedDevice device() {
  return {.name = "d",
          .products = {1, 2, 3, 4},
          .convolutions = {5, 6, 7, 8},
          .attention = {9, 10, 11, 12},
          .recurrences = {13, 14, 15, 16},
          .common = {.elementwise = 17,
                     .bandwidth = 18,
                     .launch = 19,
                     .cache_bandwidth = 20,
                     .time_step = 21},
          .error = {0.5, 0.25, 0.125, 0.5, 0.25, 0.125}};
}

TEST(RatedDevice, HasRatesOfEachFormat) {
  const DeviceRates half = device().rates({DeviceKind::cuda, DType::f16});
  EXPECT_EQ(half.product, 3);
  EXPECT_EQ(half.convolution, 7);
  EXPECT_EQ(half.attention, 11);
  EXPECT_EQ(half.recurrence, 15);
  EXPECT_EQ(half.bandwidth, 18);
  EXPECT_EQ(device().rates({DeviceKind::cuda, DType::bf16}).product, 4);
  EXPECT_EQ(device().rates({DeviceKind::cuda, DType::f32}).product, 1);
  EXPECT_EQ(device().rates({DeviceKind::cuda, DType::f32, Fp32Products::tf32}).product, 2);
}

TEST(RatedDevice, ErrorsSlowEveryClassByItsOwn) {
  const DeviceRates slow = device().rates({}, 1), fast = device().rates({}, -1);
  EXPECT_DOUBLE_EQ(slow.product, 1 / 1.5);
  EXPECT_DOUBLE_EQ(slow.convolution, 5 / 1.25);
  EXPECT_DOUBLE_EQ(slow.attention, 9 / 1.125);
  EXPECT_DOUBLE_EQ(slow.recurrence, 13 / 1.5);
  EXPECT_DOUBLE_EQ(slow.time_step, 21 * 1.5);
  EXPECT_DOUBLE_EQ(slow.weight_reading, 1.5);
  EXPECT_DOUBLE_EQ(slow.bandwidth, 18 / 1.25);
  EXPECT_DOUBLE_EQ(slow.elementwise, 17 / 1.25);
  EXPECT_DOUBLE_EQ(slow.launch, 19 * 1.125);
  EXPECT_DOUBLE_EQ(fast.product, 1 / 0.5);
  EXPECT_DOUBLE_EQ(fast.launch, 19 * 0.875);
}

/// With all errors one way, a whole model's costs lie on that side, and between the largest ones.
TEST(RatedDevice, CostsStayWithinTheLargestError) {
  const auto sequence = build_model(
      {.features = 17, .family = layers::DeepSpeech2Options{.hidden = 13, .layers = 2}}, 9, {});
  const std::vector<std::int64_t> lengths{61, 23, 40};
  const auto total = [&](double errors) {
    double seconds = 0;
    for (const LayerCost& cost : analytic_costs(sequence, lengths, {}, device().rates({}, errors)))
      seconds += cost.total();
    return seconds;
  };
  EXPECT_GT(total(1), total(0));
  EXPECT_LT(total(-1), total(0));
  EXPECT_LE(total(1), 1.5 * total(0));
  EXPECT_GE(total(-1), 0.5 * total(0));
}

}  // namespace
}  // namespace penstock::partition
