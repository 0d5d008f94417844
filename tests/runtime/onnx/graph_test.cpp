#include "runtime/onnx/graph.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/runtime/onnx_model.h"

namespace penstock::runtime {
namespace {

TEST(OnnxGraph, GivesEveryValueItsOwnName) {
  OnnxGraph graph;
  graph.begin("a");
  std::set<ValueName> names;
  for (int i = 0; i < 3; ++i) names.insert(graph.node("Relu", {"x"}));
  names.insert(graph.constant("Relu", {1}, std::vector<float>{1}));
  names.insert(graph.constant(
      {"a/Relu_1", layers::DType::f32, {0}, [] { return std::vector<std::byte>{}; }}));
  for (const ValueName& name : graph.nodes("Split", {"x"}, {}, 2)) names.insert(name);
  EXPECT_EQ(names.size(), 7U);
  EXPECT_TRUE(names.contains("a/Relu"));
}

TEST(OnnxGraph, HasEqualSmallConstantsOnce) {
  OnnxGraph graph;
  const std::vector<ValueName> names = {graph.integers({1, -2}), graph.integers({1}),
                                        graph.integer(1),        graph.real(1),
                                        graph.wide_real(1),      graph.byte(1)};
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 6U);
  EXPECT_EQ(graph.integers({1, -2}), names[0]);
  EXPECT_EQ(graph.byte(1), names[5]);
  EXPECT_EQ(graph.constants().size(), 6U);
  EXPECT_EQ(graph.constants()[0].make().size(), 16U);
  EXPECT_EQ(graph.constants()[1].shape, layers::Shape{1});
  EXPECT_EQ(graph.constants()[2].shape, layers::Shape{});
}

TEST(OnnxGraph, WritesNodesInOrderWithTheirAttributes) {
  OnnxGraph graph;
  graph.input({"x", {std::int64_t{1}, "samples"}});
  const ValueName y = transposed(graph, "x", {1, 0});
  const ValueName z = graph.node("Softmax", {y}, {{"axis", std::int64_t{-1}}});
  graph.output(z, {"logits", {"frames", std::int64_t{5}}});
  const test::OnnxModel model = test::read_graph(graph.message_without_constants());
  EXPECT_EQ(model.operators(), (std::vector<std::string>{"Transpose", "Softmax", "Identity"}));
  EXPECT_EQ(model.nodes[0].integers.at("perm"), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(model.nodes[1].integers.at("axis"), std::vector<std::int64_t>{-1});
  EXPECT_EQ(model.nodes[2].outputs, std::vector<std::string>{"logits"});
  EXPECT_EQ(model.inputs.at("x"), (std::vector<std::string>{"1", "samples"}));
  EXPECT_EQ(model.outputs.at("logits"), (std::vector<std::string>{"frames", "5"}));
  EXPECT_TRUE(model.faults().empty());
}

}  // namespace
}  // namespace penstock::runtime
