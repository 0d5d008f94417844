#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "layers/nn/sinusoidal_positions.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

test::BuiltGraph positions_of(const layers::SinusoidOptions& options, int channels) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::SinusoidalPositions>("p", options));
  return test::BuiltGraph(std::move(sequence), channels);
}

TEST(PositionNodes, HaveASpeedForEachPair) {
  const test::BuiltGraph graph = positions_of({}, 5);
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
      positions_of({.order = layers::SinusoidOrder::halves, .max_frames = 3, .stored = true}, 4);
  EXPECT_EQ(graph.floats("p.weight").size(), 12U);
  EXPECT_EQ(graph.model().operators(),
            (std::vector<std::string>{"Shape", "Slice", "Add", "Identity"}));
}

TEST(PositionNodes, RefusePositionsThatBeginAnew) {
  EXPECT_THROW((void)positions_of({.period = 7}, 4), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
