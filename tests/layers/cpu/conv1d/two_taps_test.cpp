#include "layers/cpu/conv1d/two_taps.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

/// a of count + 1 rows, of which the outer ones may be zeros; A, B, y and dy.
class TwoTapsTest : public testing::TestWithParam<std::int64_t> {
 protected:
  static constexpr std::int64_t kIn = 5, kOut = 7, kGap = 3;  // a gap shows a wrong stride
  static constexpr double kUnwritten = 99;
  void SetUp() override {
    for (auto* rows : {&mixed_[0], &mixed_[1], &mixed_[2], &mixed_[3]})
      rows->resize(tap_tile(count_) * kIn);
    for (auto* rows : {&mixed_dy_[0], &mixed_dy_[1]}) rows->resize(tap_tile(count_) * kOut);
  }
  std::array<double*, 4> mixed() {
    return {mixed_[0].data(), mixed_[1].data(), mixed_[2].data(), mixed_[3].data()};
  }
  TapRows<double> rows(bool zeros) const {
    return {.data = a_.data(),
            .stride = kIn + kGap,
            .count = count_ + (zeros ? -1 : 1),
            .channels = kIn,
            .zeros_before = zeros,
            .zeros = zeros_.data()};
  }
  double a(bool zeros, std::int64_t row, std::int64_t c) const {
    if (!zeros) return a_[row * (kIn + kGap) + c];
    return row == 0 || row == count_ ? 0 : a_[(row - 1) * (kIn + kGap) + c];
  }
  void expect_taps(bool zeros, bool transposed);

  const std::int64_t count_ = GetParam();
  const std::vector<double> a_ = test::uniform((count_ + 1) * (kIn + kGap), 1),
                            zeros_ = std::vector<double>(kIn);
  std::array<std::vector<double>, 4> mixed_;
  std::array<std::vector<double>, 2> mixed_dy_;
  const std::unique_ptr<Stream> stream_ = make_cpu_backend()->make_stream();
};

void TwoTapsTest::expect_taps(bool zeros, bool transposed) {
  std::array<std::vector<double>, 4> weights = {
      test::uniform(kIn * kOut, 2), std::vector<double>(kIn * kOut),
      std::vector<double>(kIn * kOut), test::uniform(kIn * kOut, 3)};
  mix_weights<double>({weights[0].data(), weights[1].data(), weights[2].data(), weights[3].data()},
                      kIn * kOut);
  const std::int64_t stride = transposed ? kIn : kOut;
  std::vector<double> y(count_ * (kOut + kGap), kUnwritten);
  TwoTaps<double> taps{.a = rows(zeros),
                       .weights = {},
                       .y = y.data(),
                       .stride = kOut + kGap,
                       .count = count_,
                       .channels = kOut,
                       .mixed = mixed()};
  for (std::size_t i = 0; i < 4; ++i) taps.weights[i] = {weights[i].data(), stride, transposed};
  run_two_taps(*stream_, taps);
  for (std::int64_t j = 0; j < count_; ++j)
    for (std::int64_t o = 0; o < kOut + kGap; ++o) {
      double expected = o < kOut ? 0 : kUnwritten;
      for (std::int64_t c = 0; o < kOut && c < kIn; ++c) {
        const std::int64_t weight = transposed ? o * kIn + c : c * kOut + o;
        expected += a(zeros, j, c) * weights[0][weight] + a(zeros, j + 1, c) * weights[3][weight];
      }
      ASSERT_NEAR(y[j * (kOut + kGap) + o], expected, 1e-13) << "row " << j << ", " << o;
    }
}

TEST_P(TwoTapsTest, EqualThePlainSums) {
  for (const bool transposed : {false, true}) expect_taps(false, transposed);
}

TEST_P(TwoTapsTest, SeeZerosBeforeAndBehind) { expect_taps(true, false); }

TEST_P(TwoTapsTest, GradientEqualsThePlainSums) {
  const std::vector<double> dy = test::uniform(count_ * (kOut + kGap), 4);
  std::array<std::vector<double>, 4> sums;
  for (auto& sum : sums) sum.resize(kIn * kOut);
  const TwoTapsGradient<double> gradient{
      .a = rows(false),
      .dy = {.data = dy.data(), .stride = kOut + kGap, .count = count_, .channels = kOut},
      .sums = {sums[0].data(), sums[1].data(), sums[2].data(), sums[3].data()},
      .mixed = mixed(),
      .mixed_dy = {mixed_dy_[0].data(), mixed_dy_[1].data()}};
  add_two_taps_gradient(*stream_, gradient);
  add_two_taps_gradient(*stream_, gradient);
  finish_sums(gradient.sums, kIn * kOut);
  for (const std::int64_t tap : {0, 1})
    for (std::int64_t o = 0; o < kOut; ++o)
      for (std::int64_t c = 0; c < kIn; ++c) {
        double expected = 0;
        for (std::int64_t j = 0; j < count_; ++j)
          expected += 2 * dy[j * (kOut + kGap) + o] * a(false, j + tap, c);
        ASSERT_NEAR(sums[3 * tap][o * kIn + c], expected, 1e-11) << "tap " << tap;
      }
}

INSTANTIATE_TEST_SUITE_P(Counts, TwoTapsTest,
                         testing::Values(1, 2, 3, 4, 5, 9, 3 * kTapTile - 1, 3 * kTapTile + 4));

}  // namespace
}  // namespace penstock::layers
