#include <gtest/gtest.h>

#include <cmath>

#include "layers/nn/conv1d.h"
#include "layers/nn/conv2d.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

/// v is {1, 2, 3, 4} of two inputs and two taps, and g is {1, 2}.
TEST(ConvolutionNodes, MultiplyOutTheWeightNormOfEachTap) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Conv1d>(layers::Conv1dOptions{
      .name = "c", .in_channels = 2, .kernel = 2, .left = 1, .bias = false, .weight_norm = true}));
  const test::BuiltGraph graph(std::move(sequence), 2);
  const std::vector<float> weight = graph.floats("c.weight_v");
  ASSERT_EQ(weight.size(), 4U);
  EXPECT_FLOAT_EQ(weight[0], static_cast<float>(1 / std::sqrt(10.0)));
  EXPECT_FLOAT_EQ(weight[1], static_cast<float>(2 * 2 / std::sqrt(20.0)));
  EXPECT_FLOAT_EQ(weight[2], static_cast<float>(3 / std::sqrt(10.0)));
  EXPECT_FLOAT_EQ(weight[3], static_cast<float>(2 * 4 / std::sqrt(20.0)));
  EXPECT_EQ(graph.model().nodes[2].integers.at("pads"), (std::vector<std::int64_t>{1, 0}));
}

TEST(ConvolutionNodes, MakeRowsOfAnImageAgain) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Conv2d>(
      layers::Conv2dOptions{.name = "c",
                            .in_channels = 2,
                            .out_channels = 3,
                            .in_frequencies = 5,
                            .frequency = {.kernel = 3, .stride = 2, .padding = 1},
                            .time = {.kernel = 2, .stride = 1, .padding = 0}}));
  const test::BuiltGraph graph(std::move(sequence), 10);
  const std::vector<test::OnnxNode>& nodes = graph.model().nodes;
  EXPECT_EQ(nodes[0].inputs[1], "[1,-1,5,2]");
  EXPECT_EQ(nodes[2].integers.at("pads"), (std::vector<std::int64_t>{1, 0, 1, 0}));
  EXPECT_EQ(nodes[2].integers.at("strides"), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(nodes[4].inputs[1], "[-1,9]");
  EXPECT_EQ(graph.model().constant("c.weight").shape, (layers::Shape{3, 2, 3, 2}));
}

}  // namespace
}  // namespace penstock::runtime
