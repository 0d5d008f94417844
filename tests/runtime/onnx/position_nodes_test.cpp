#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "layers/nn/sinusoidal_positions.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

test::BuiltGraph build_positions(const layers::SinusoidOptions& options, int channels) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::SinusoidalPositions>("p", options));
  return test::BuiltGraph(std::move(sequence), channels);
}

TEST(PositionNodes, HaveASpeedForEachPair) {
  const test::BuiltGraph graph = build_positions({}, 5);
  const std::vector<std::uint8_t> bytes = graph.bytes("p/speeds");
  ASSERT_EQ(bytes.size(), 3 * sizeof(double));
  std::vector<double> speeds(3);
  std::memcpy(speeds.data(), bytes.data(), bytes.size());
  EXPECT_DOUBLE_EQ(speeds[0], 1);
  EXPECT_DOUBLE_EQ(speeds[1], std::pow(10000.0, -2.0 / 5));
  EXPECT_TRUE(graph.model().constants.contains("[5]"));  // the last cosine is cut off
}

TEST(PositionNodes, ReadAStoredTable) {
  const test::BuiltGraph graph =
      build_positions({.order = layers::SinusoidOrder::halves, .max_frames = 3, .stored = true}, 4);
  EXPECT_EQ(graph.floats("p.weight").size(), 12U);
  EXPECT_EQ(graph.model().operators(),
            (std::vector<std::string>{"Shape", "Squeeze", "Range", "Slice", "Reshape", "Gather",
                                      "Add", "Identity"}));
  EXPECT_EQ(graph.model().faults(), std::vector<std::string>{});
}

/// A Reshape to the number of frames fails if fewer positions were sliced. onnx_logits.py runs it.
TEST(PositionNodes, CheckThatEachFrameHasAPosition) {
  for (const bool stored : {false, true}) {
    const test::BuiltGraph graph = build_positions(
        {.order = layers::SinusoidOrder::halves, .max_frames = 7, .stored = stored}, 4);
    const std::vector<test::OnnxNode>& nodes = graph.model().nodes;
    ASSERT_EQ(nodes[4].op, "Reshape");
    EXPECT_EQ(nodes[4].inputs[1], nodes[0].outputs[0]);
    EXPECT_EQ(nodes[5].op, stored ? "Gather" : "Cast");
    EXPECT_TRUE(graph.model().constants.contains("[7]"));
    EXPECT_EQ(graph.model().faults(), std::vector<std::string>{});
  }
  const std::vector<std::string> unlimited = build_positions({}, 4).model().operators();
  EXPECT_EQ(std::ranges::count(unlimited, std::string("Slice")), 0);
}

TEST(PositionNodes, RefusePositionsThatBeginAnew) {
  EXPECT_THROW((void)build_positions({.period = 7}, 4), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
