#include <gtest/gtest.h>

#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

/// A recurrence of one hidden channel after the projection of one input, whose gates are rows.
test::BuiltGraph build_recurrence(layers::RecurrenceKind kind, int gates, int directions) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Linear>(
      layers::LinearOptions{.name = "p", .in = 1, .out = directions * gates}));
  sequence.push_back(
      std::make_unique<layers::Recurrence>(layers::RecurrenceOptions{"r", kind, directions, 1}));
  return test::BuiltGraph(std::move(sequence), 1);
}

TEST(RecurrenceNodes, MoveTheGatesOfAGru) {
  const test::BuiltGraph graph = build_recurrence(layers::RecurrenceKind::gru, 3, 2);
  EXPECT_EQ(graph.floats("p.weight"), (std::vector<float>{2, 1, 3, 5, 4, 6}));
  EXPECT_EQ(graph.floats("r.weight"), (std::vector<float>{2, 1, 3, 5, 4, 6}));
  EXPECT_EQ(graph.floats("r/bias"), (std::vector<float>{2, 1, 3, 2, 1, 3, 5, 4, 6, 5, 4, 6}));
  const test::OnnxNode& node = graph.model().nodes[1];
  EXPECT_EQ(node.op, "GRU");
  EXPECT_EQ(node.integers.at("linear_before_reset"), std::vector<std::int64_t>{1});
  EXPECT_EQ(node.texts.at("direction"), "bidirectional");
}

TEST(RecurrenceNodes, MoveTheGatesOfAnLstm) {
  const test::BuiltGraph graph = build_recurrence(layers::RecurrenceKind::lstm, 4, 1);
  EXPECT_EQ(graph.floats("r.weight"), (std::vector<float>{1, 4, 2, 3}));
  EXPECT_EQ(graph.floats("r/bias"), (std::vector<float>{1, 4, 2, 3, 1, 4, 2, 3}));
  EXPECT_EQ(graph.model().nodes[1].texts.at("direction"), "forward");
}

}  // namespace
}  // namespace penstock::runtime
