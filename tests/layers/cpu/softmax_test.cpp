#include "layers/ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

/// Matrices of 3 rows, and the definition of the operation in FP64.
class SoftmaxOperation : public testing::TestWithParam<std::int64_t> {
 protected:
  Tensor matrix(std::vector<float>& numbers) const {
    numbers.resize(static_cast<std::size_t>(3 * GetParam()));
    return {numbers.data(), DType::f32, {3, GetParam()}};
  }
  std::vector<float> random(std::uint64_t seed, double size) const {
    const std::vector<double> numbers = test::uniform(3 * GetParam(), seed, -size, size);
    return {numbers.begin(), numbers.end()};
  }
  /// Returns the sum of term(k) over the row of element i.
  template <class Term>
  double sum_of_row(std::size_t i, const Term& term) const {
    const auto channels = static_cast<std::size_t>(GetParam());
    double sum = 0;
    for (std::size_t k = i / channels * channels; k < (i / channels + 1) * channels; ++k)
      sum += term(k);
    return sum;
  }
  std::vector<double> defined(const std::vector<float>& x) const {
    std::vector<double> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(1 / sum_of_row(i, [&](std::size_t k) {
                    return std::exp(static_cast<double>(x[k]) - static_cast<double>(x[i]));
                  }));
    return y;
  }
  template <class Operation>
  void run(const Operation& operation) {
    backend_->run(*stream_, operation);
  }

 private:
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

TEST_P(SoftmaxOperation, IsItsDefinition) {
  for (const double size : {3.0, 300.0}) {
    std::vector<float> x = random(1, size), y;
    run(SoftmaxForward{matrix(x), matrix(y)});
    const std::vector<double> wanted = defined(x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-6) << i;
  }
}

TEST_P(SoftmaxOperation, HasItsGradient) {
  std::vector<float> x = random(1, 3), dy = random(2, 1), y, dx;
  run(SoftmaxForward{matrix(x), matrix(y)});
  run(SoftmaxBackward{matrix(y), matrix(dy), matrix(dx)});
  const std::vector<double> p = defined(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double mean =
        sum_of_row(i, [&](std::size_t k) { return p[k] * static_cast<double>(dy[k]); });
    EXPECT_NEAR(dx[i], p[i] * (static_cast<double>(dy[i]) - mean), 1e-6) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, SoftmaxOperation, testing::Values(1, 5, 8, 35, 1027),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace penstock::layers
