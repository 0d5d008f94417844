#include <gtest/gtest.h>

#include "layers/cpu/convolution/conv2d_methods.h"
#include "layers/nn/conv2d.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;
using test::relative_error;

struct Case {
  const char* name;
  std::int64_t in, out, frequencies;
  Conv2dAxis frequency, time;
  std::vector<std::int64_t> lengths;

  Conv2d layer() const { return Conv2d({name, in, out, frequencies, frequency, time}); }
  Conv2dGeometry geometry() const { return {in, out, frequency, time, frequencies, lengths}; }
};

void PrintTo(const Case& geometry, std::ostream* out) { *out << geometry.name; }

struct Results {
  std::vector<double> y, dx, dweight;
  bool operator==(const Results&) const = default;
};

Results results(const Case& how, DType dtype) {
  const Conv2d layer = how.layer();
  LayerRunner runner(layer, {dtype, {{how.lengths, how.frequencies * how.in}}});
  runner.randomise(11);
  // Gradients are added to what is there.
  test::assign(runner.grads()[0], test::uniform(runner.grads()[0].size(), 13));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  return {numbers(runner.output().only().x_FC), numbers(runner.input_gradient().only().x_FC),
          numbers(runner.grads()[0])};
}

class Conv2dFft : public testing::TestWithParam<Case> {};

// Rounding grows with the logarithm of the points that a transform takes, a dozen here: 16 FP32
// epsilons of the largest number are ample, and any wrong term is far beyond them.
TEST_P(Conv2dFft, AgreesWithWindowsInDoublePrecision) {
  ASSERT_TRUE(conv2d_fft::suits(GetParam().geometry()));
  const Results fast = results(GetParam(), DType::f32), exact = results(GetParam(), DType::f64);
  EXPECT_LE(relative_error(fast.y, exact.y), 2e-6);
  EXPECT_LE(relative_error(fast.dx, exact.dx), 2e-6);
  EXPECT_LE(relative_error(fast.dweight, exact.dweight), 2e-6);
}

TEST_P(Conv2dFft, GivesTheSameBitsTwice) {
  EXPECT_EQ(results(GetParam(), DType::f32), results(GetParam(), DType::f32));
}

const Case kCases[] = {
    {"conv1", 1, 8, 80, {41, 2, 20}, {11, 2, 5}, {70, 1, 31, 2, 64}},
    {"conv2", 8, 8, 40, {21, 2, 10}, {11, 1, 5}, {35, 1, 16, 1, 1, 32}},
    {"many channels", 9, 23, 21, {21, 2, 10}, {11, 1, 5}, {13, 7}},
    {"one utterance of one frame", 3, 17, 12, {7, 1, 3}, {9, 1, 4}, {1}},
    {"more tiles than a block", 1, 2, 5, {3, 1, 1}, {17, 1, 8}, {300, 1, 200}},
    {"inputs that nothing reads", 2, 3, 20, {6, 4, 0}, {8, 5, 0}, {17, 8, 25}},
    {"no padding", 4, 5, 30, {13, 1, 0}, {7, 1, 0}, {7, 40, 9}},
    {"padding beyond the kernel", 2, 4, 6, {7, 1, 9}, {9, 2, 12}, {5, 1, 14}},
    {"odd padding under a stride", 8, 3, 19, {9, 2, 3}, {7, 3, 5}, {22, 9, 4}},
    {"fewer frequencies than kernel", 2, 3, 12, {41, 2, 20}, {11, 2, 5}, {37, 11}},
    {"hardly any frequencies", 2, 3, 3, {21, 2, 10}, {11, 1, 5}, {7, 40}},
    {"an odd number of rows", 3, 11, 14, {8, 1, 4}, {8, 1, 7}, {18}},
    {"no kernel over time", 2, 2, 60, {49, 3, 24}, {1, 1, 0}, {3, 33}},
    {"only a kernel over time", 3, 2, 4, {4, 2, 1}, {16, 1, 8}, {3, 50}},
};

INSTANTIATE_TEST_SUITE_P(Geometries, Conv2dFft, testing::ValuesIn(kCases));

TEST(Conv2dFftSuits, LeavesSmallAndHugeKernelsToWindows) {
  const std::vector<std::int64_t> lengths = {40};
  EXPECT_FALSE(conv2d_fft::suits({1, 8, {3, 2, 1}, {3, 2, 1}, 80, lengths}));
  EXPECT_FALSE(conv2d_fft::suits({1, 8, {3, 1, 1}, {31, 1, 15}, 80, lengths}));
  EXPECT_FALSE(conv2d_fft::suits({1, 8, {41, 1, 20}, {11, 1, 5}, 700, lengths}));
}

}  // namespace
}  // namespace penstock::layers
