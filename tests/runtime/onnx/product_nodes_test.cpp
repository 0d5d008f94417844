#include <gtest/gtest.h>

#include "layers/nn/linear.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

test::BuiltGraph build_product(int in, int out, bool eight_bits) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(
      std::make_unique<layers::Linear>(layers::LinearOptions{.name = "a", .in = in, .out = out}));
  return test::BuiltGraph(std::move(sequence), in, eight_bits);
}

/// The weight is {{1, 2, 3}, {4, 5, 6}}: 3 and 6 become 127 above zero, which is 128.
TEST(ProductNodes, RoundEachOutputsWeightsByItsLargest) {
  const test::BuiltGraph graph = build_product(3, 2, true);
  EXPECT_EQ(graph.floats("a.weight.scale"), (std::vector<float>{3.0F / 127, 6.0F / 127}));
  EXPECT_EQ(graph.bytes("a.weight.quantised"),
            (std::vector<std::uint8_t>{170, 213, 213, 234, 255, 255}));
  EXPECT_EQ(graph.model().constant("a.weight.quantised").shape, (layers::Shape{3, 2}));
  EXPECT_EQ(graph.model().operators(),
            (std::vector<std::string>{"DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul",
                                      "Mul", "Add", "Identity"}));
}

TEST(ProductNodes, KeepTheWeightInFullPrecision) {
  const test::BuiltGraph graph = build_product(3, 2, false);
  EXPECT_EQ(graph.floats("a.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(graph.model().operators(), (std::vector<std::string>{"Gemm", "Identity"}));
}

}  // namespace
}  // namespace penstock::runtime
