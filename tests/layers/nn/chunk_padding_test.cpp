#include "layers/nn/chunk_padding.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

ChunkPadding padding() { return ChunkPadding({.name = "pad", .chunk = 7, .multiple = 4}); }

class ChunkPaddingTypes : public testing::TestWithParam<DType> {};

TEST_P(ChunkPaddingTypes, AppendsZerosToTheLastChunk) {
  const ChunkPadding layer = padding();
  LayerRunner runner(layer, {GetParam(), {{{9, 0, 1, 14, 20}, 2}}});
  runner.randomise(3);
  runner.forward();
  const Frames& y = runner.output().only();
  EXPECT_EQ(std::vector<std::int64_t>(y.lengths.begin(), y.lengths.end()),
            (std::vector<std::int64_t>{11, 0, 4, 14, 21}));
  const std::vector<double> from = numbers(runner.input().only().x_FC), to = numbers(y.x_FC);
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + 18, to.begin()));
  EXPECT_EQ(std::vector(to.begin() + 18, to.begin() + 22), std::vector<double>(4));
  EXPECT_TRUE(std::equal(from.begin() + 18, from.begin() + 20, to.begin() + 22));
  EXPECT_EQ(std::vector(to.begin() + 24, to.begin() + 30), std::vector<double>(6));
  EXPECT_TRUE(std::equal(from.begin() + 20, from.end(), to.begin() + 30));
}

INSTANTIATE_TEST_SUITE_P(Types, ChunkPaddingTypes, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(ChunkPadding, HasTheGradientOfFiniteDifferences) {
  const ChunkPadding layer = padding();
  LayerRunner runner(layer, {DType::f64, {{{9, 0, 1, 14}, 3}}});
  runner.randomise(2);
  check_gradients(runner);
}

TEST(ChunkPadding, RefusesChunksOfNoFrames) {
  EXPECT_THROW(ChunkPadding({.name = "pad", .chunk = 0}), ShapeError);
  EXPECT_THROW(ChunkPadding({.name = "pad", .chunk = 3, .multiple = 0}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
