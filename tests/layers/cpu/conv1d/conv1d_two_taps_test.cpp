#include <gtest/gtest.h>

#include <algorithm>

#include "layers/cpu/conv1d/conv1d_taps.h"
#include "layers/nn/conv1d.h"
#include "tests/support/layers/layer_runner.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;

TEST(Conv1dTwoTaps, AreThoseThatSeeTheSameFrames) {
  const Conv1dGeometry two{.kernel = 3, .stride = 2};
  EXPECT_TRUE(has_two_taps(two));
  for (const auto member :
       {&Conv1dGeometry::kernel, &Conv1dGeometry::stride, &Conv1dGeometry::dilation,
        &Conv1dGeometry::groups, &Conv1dGeometry::left, &Conv1dGeometry::right}) {
    Conv1dGeometry other = two;
    ++(other.*member);
    EXPECT_FALSE(has_two_taps(other));
  }
  EXPECT_FALSE(has_two_taps({.kernel = 2, .stride = 1}));
}

/// The same convolution with one more tap, of zeros, takes its products tap by tap.
class Conv1dTwoTapsCases : public testing::TestWithParam<std::int64_t> {
 protected:
  static constexpr std::int64_t kIn = 3, kOut = 5;
  static Conv1dOptions options(std::int64_t stride, bool plain) {
    return {.name = "conv",
            .in_channels = kIn,
            .out_channels = kOut,
            .kernel = stride + (plain ? 2 : 1),
            .stride = stride,
            .right = plain ? 1 : 0,
            .bias = false};
  }
  /// Calls use(number of these weights, number of those with one more tap).
  template <class Use>
  static void for_each_weight(std::int64_t kernel, const Use& use) {
    for (std::int64_t i = 0; i < kOut * kIn; ++i)
      for (std::int64_t k = 0; k < kernel; ++k) use(i * kernel + k, i * (kernel + 1) + k);
  }
};

TEST_P(Conv1dTwoTapsCases, EqualOneProductForEachTap) {
  const std::int64_t stride = GetParam(), kernel = stride + 1;
  const Conv1d layer(options(stride, false)), plain(options(stride, true));
  std::vector<std::int64_t> lengths = {stride * 1700 + 1};  // more than a tile of outputs
  for (std::int64_t frames = kernel; frames < 6 * stride + 3; ++frames) lengths.push_back(frames);
  LayerRunner runner(layer, {DType::f64, {{lengths, kIn}}});
  LayerRunner reference(plain, {DType::f64, {{lengths, kIn}}});
  runner.randomise(5);
  const auto copy = [](const Tensor& from, const Tensor& to) {
    ASSERT_EQ(from.size(), to.size());
    std::copy_n(from.as<double>(), from.size(), to.as<double>());
  };
  copy(runner.input().only().x_FC, reference.input().only().x_FC);
  copy(runner.output_gradient().only().x_FC, reference.output_gradient().only().x_FC);
  for_each_weight(kernel, [&](std::int64_t i, std::int64_t of_plain) {
    reference.params()[0].as<double>()[of_plain] = runner.params()[0].as<double>()[i];
  });
  for (LayerRunner* each : {&runner, &reference}) {
    each->forward();
    each->backward_input();
    each->backward_weight();
  }
  const auto error = [](const Tensor& a, const Tensor& b) {
    return test::relative_error(test::numbers(a), test::numbers(b));
  };
  EXPECT_LE(error(runner.output().only().x_FC, reference.output().only().x_FC), 1e-14);
  EXPECT_LE(error(runner.input_gradient().only().x_FC, reference.input_gradient().only().x_FC),
            1e-14);
  const double* const found = runner.grads()[0].as<double>();
  const double* const expected = reference.grads()[0].as<double>();
  for_each_weight(kernel, [&](std::int64_t i, std::int64_t of_plain) {
    EXPECT_NEAR(found[i], expected[of_plain], 1e-11) << i;
  });
}

INSTANTIATE_TEST_SUITE_P(Strides, Conv1dTwoTapsCases, testing::Values(2, 3, 5));

}  // namespace
}  // namespace penstock::layers
