#include "layers/cpu/products/packed_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "layers/cpu/vector.h"
#include "layers/tensor/buffer.h"

namespace penstock::layers {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

/// Largest |C − plain FP64 sums| over the largest value that numbers below one allow.
template <class T>
double error(const Sizes& sizes, bool transposed, bool add) {
  const auto& [m, n, k] = sizes;
  std::mt19937 random(11);
  std::uniform_real_distribution<T> uniform(-1, 1);
  const auto numbers = [&](std::int64_t count) {
    std::vector<T> v(count);
    for (T& number : v) number = uniform(random);
    return v;
  };
  const std::int64_t a_stride = k + 3, c_stride = whole_vectors<T>(n) + kLanes<T>;
  const auto a = numbers(m * a_stride), b = numbers(k * n);
  auto c = numbers(m * c_stride);
  const auto before = c;

  std::vector<const T*> a_rows;  // in another order than in memory
  for (std::int64_t i = 0; i < m; ++i) a_rows.push_back(a.data() + (m - 1 - i) * a_stride);
  const Buffer memory = host_buffer(PackedFactor<T>::bytes(k, n));
  const auto packed = transposed ? PackedFactor<T>::of_transpose(b.data(), k, n, memory.data())
                                 : PackedFactor<T>::of(b.data(), k, n, memory.data());
  packed.multiply(a_rows, c.data(), c_stride, add);

  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = add ? before[i * c_stride + j] : 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(a_rows[i][l]) * b[transposed ? j * k + l : l * n + j];
      worst = std::max(worst, std::abs(c[i * c_stride + j] - sum));
    }
  return worst / static_cast<double>(k + 1);
}

class PackedProductTest : public testing::TestWithParam<Sizes> {};

TEST_P(PackedProductTest, EqualsThePlainSums) {
  for (const bool transposed : {false, true})
    for (const bool add : {false, true}) {
      EXPECT_LE(error<float>(GetParam(), transposed, add), 2e-7);
      EXPECT_LE(error<double>(GetParam(), transposed, add), 1e-15);
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, PackedProductTest,
                         testing::Values(Sizes{1, 1, 1}, Sizes{2, 24, 7}, Sizes{3, 25, 300},
                                         Sizes{4, 47, 13}, Sizes{5, 33, 257}, Sizes{9, 72, 24},
                                         Sizes{14, 8, 513}, Sizes{9, 1027, 521}));

}  // namespace
}  // namespace penstock::layers
