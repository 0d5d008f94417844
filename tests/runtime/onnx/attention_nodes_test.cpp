#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "layers/nn/attention.h"
#include "layers/nn/linear.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

using layers::AttentionOptions, layers::AttentionPositions;

/// Two blocks of a product and attention, of two heads of two channels each.
test::BuiltGraph two_blocks(AttentionOptions options) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  options.channels = 4;
  options.heads = 2;
  for (const char* name : {"a", "b"}) {
    options.name = name;
    sequence.push_back(std::make_unique<layers::Linear>(
        layers::LinearOptions{.name = std::string(name) + ".qkv", .in = 4, .out = 12}));
    sequence.push_back(std::make_unique<layers::Attention>(options));
  }
  return test::BuiltGraph(std::move(sequence), 4);
}

std::int64_t count(const test::BuiltGraph& graph, const std::string& op) {
  return std::ranges::count(graph.model().operators(), op);
}

TEST(AttentionNodes, ShareTheTablesOfFrames) {
  for (const AttentionPositions positions :
       {AttentionPositions::relative, AttentionPositions::rotary}) {
    const test::BuiltGraph graph = two_blocks({.name = "", .positions = positions});
    EXPECT_EQ(count(graph, "Sin"), 2);
    EXPECT_EQ(count(graph, "Shape"), 1);
    EXPECT_EQ(count(graph, "Softmax"), 2);
    EXPECT_EQ(graph.model().faults(), std::vector<std::string>{});
  }
}

TEST(AttentionNodes, MaskWhatLiesBeyondTheContext) {
  EXPECT_EQ(count(two_blocks({.name = ""}), "Where"), 0);
  const test::BuiltGraph limited = two_blocks({.name = "", .left = 3, .right = 1});
  EXPECT_EQ(count(limited, "Where"), 2);
  EXPECT_EQ(count(limited, "And"), 1);
  EXPECT_TRUE(limited.model().constants.contains("integer:-3"));
}

TEST(AttentionNodes, RefuseWindowsAndSharedKeys) {
  EXPECT_THROW((void)two_blocks({.name = "", .window = 5}), ConfigError);
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Attention>(
      AttentionOptions{.name = "a", .channels = 4, .heads = 2, .kv_heads = 1}));
  EXPECT_THROW((void)test::BuiltGraph(std::move(sequence), 8), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
