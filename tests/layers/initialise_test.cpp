#include "layers/initialise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace {

ParamDecl uniform(std::string name, double bound) {
  return {std::move(name), {999}, {Initialiser::Kind::uniform, bound}};
}

template <class T>
std::vector<T> part(const ParamDecl& param, std::uint64_t seed, std::int64_t first,
                    std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  initialise(param, seed, {values.data(), DTypeOf<T>::value, {count}}, first);
  return values;
}

TEST(Initialise, AnyPartHoldsTheSameNumbers) {
  const ParamDecl param = uniform("rnn1.weight", 0.25);
  const auto whole = part<float>(param, 7, 0, 999);
  for (std::int64_t first : {1, 2, 500})
    EXPECT_TRUE(std::ranges::equal(part<float>(param, 7, first, 123),
                                   std::span(whole).subspan(static_cast<std::size_t>(first), 123)));
  EXPECT_TRUE(std::ranges::equal(part<double>(param, 7, 0, 999), whole));
}

TEST(Initialise, DependsOnSeedAndName) {
  const auto values = part<float>(uniform("a", 1), 7, 0, 999);
  EXPECT_NE(values, part<float>(uniform("a", 1), 8, 0, 999));
  EXPECT_NE(values, part<float>(uniform("b", 1), 7, 0, 999));
}

TEST(Initialise, IsUniformWithinItsBound) {
  const double bound = 0.25;
  const auto values = part<double>(uniform("a", bound), 1, 0, 100000);
  double sum = 0, squares = 0;
  for (double v : values) {
    ASSERT_LE(std::abs(v), bound);
    sum += v;
    squares += v * v;
  }
  const double n = 100000, variance = bound * bound / 3;
  EXPECT_LE(std::abs(sum / n), 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(0.8 / n));
}

TEST(Initialise, FillsConstants) {
  const ParamDecl ones{"norm.weight", {5}, {Initialiser::Kind::constant, 1}};
  EXPECT_EQ(part<float>(ones, 3, 0, 5), std::vector<float>(5, 1.0f));
}

TEST(Noise, IsInEveryFormat) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Buffer buffer = backend->allocate(1000 * size_of(dtype));
    fill_with_noise(*backend, *stream, {buffer.data(), dtype, {1000}}, 0.5F);
    std::vector<float> found(1000);
    backend->run(*stream, Cast{{buffer.data(), dtype, {1000}},
                               {reinterpret_cast<std::byte*>(found.data()), DType::f32, {1000}}});
    const auto [min, max] = std::ranges::minmax(found);
    EXPECT_LT(min, -0.4F);
    EXPECT_GT(max, 0.4F);
    EXPECT_LE(std::max(-min, max), 0.5F);
  }
}

}  // namespace
}  // namespace penstock::layers
