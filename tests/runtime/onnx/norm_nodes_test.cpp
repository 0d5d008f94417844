#include <gtest/gtest.h>

#include <cmath>

#include "layers/nn/batch_norm.h"
#include "layers/nn/layer_norm.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

/// Weight, bias, mean and variance of channel c are c + 1 each.
TEST(NormNodes, RepeatABatchNormForEveryFrequency) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::BatchNorm>(layers::BatchNormOptions{
      .name = "n", .channels = 2, .groups = 3, .epsilon = 0, .silu = true}));
  const test::BuiltGraph graph(std::move(sequence), 6);
  const std::vector<float> factors = graph.floats("n/factor"), terms = graph.floats("n/term");
  ASSERT_EQ(factors.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    const double c = static_cast<double>(i % 2) + 1;
    EXPECT_FLOAT_EQ(factors[i], static_cast<float>(std::sqrt(c)));
    EXPECT_FLOAT_EQ(terms[i], static_cast<float>(c - c * std::sqrt(c)));
  }
  EXPECT_EQ(graph.model().operators(),
            (std::vector<std::string>{"Mul", "Add", "Sigmoid", "Mul", "Identity"}));
}

TEST(NormNodes, SubtractNoMeanInRmsNorm) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::LayerNorm>(
      layers::LayerNormOptions{.name = "n", .channels = 2, .centred = false, .bias = false}));
  const test::BuiltGraph graph(std::move(sequence), 2);
  EXPECT_EQ(graph.model().operators(), (std::vector<std::string>{"Mul", "ReduceMean", "Add", "Sqrt",
                                                                 "Div", "Mul", "Identity"}));
}

}  // namespace
}  // namespace penstock::runtime
