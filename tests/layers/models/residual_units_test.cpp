#include "layers/models/residual_units.h"

#include <gtest/gtest.h>

#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

const ActivationDecl kFrames{DType::f32, {{{7, 1, 13, 5}, 12}}};
const std::vector<std::uint64_t> kPlaces = {3, 1, 4, 15};

std::vector<std::string> params_of(const std::unique_ptr<Layer>& unit) {
  std::vector<std::string> names;
  for (const ParamDecl& param : unit->plan(kFrames, {}).params) names.push_back(param.name);
  return names;
}

/// Share of the numbers to which a unit adds nothing in training.
double untouched(const std::unique_ptr<Layer>& unit) {
  test::LayerRunner runner(*unit, kFrames);
  runner.randomise(3);
  runner.random.utterances = kPlaces;
  runner.forward();
  const auto x = test::numbers(runner.input().only().x_FC);
  const auto y = test::numbers(runner.output().only().x_FC);
  double same = 0;
  for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i] ? 1 : 0;
  return same / static_cast<double>(x.size());
}

TEST(ResidualUnits, HaveNoBiasesButOfNormsIfTold) {
  EXPECT_EQ(params_of(feed_forward_unit({.name = "f", .width = 12, .inner = 20, .bias = false})),
            (std::vector<std::string>{"f.norm.weight", "f.norm.bias", "f.linear1.weight",
                                      "f.linear2.weight"}));
  EXPECT_EQ(params_of(attention_unit({.name = "a", .width = 12, .heads = 3, .bias = false})),
            (std::vector<std::string>{"a.norm.weight", "a.norm.bias", "a.qkv.weight",
                                      "a.output.weight"}));
  EXPECT_EQ(params_of(convolution_unit({.name = "c", .width = 12, .kernel = 5, .bias = false})),
            (std::vector<std::string>{"c.norm.weight", "c.norm.bias", "c.pointwise1.weight",
                                      "c.depthwise.weight", "c.batch_norm.weight",
                                      "c.batch_norm.bias", "c.pointwise2.weight"}));
}

TEST(ResidualUnits, DropWhatTheyAddIfTold) {
  for (const bool dropped : {true, false}) {
    const double share = dropped ? 0.5 : 0;
    EXPECT_NEAR(
        untouched(feed_forward_unit(
            {.name = "f", .width = 12, .inner = 20, .dropout = 0.5, .output_dropout = dropped})),
        share, 0.15);
    EXPECT_NEAR(
        untouched(attention_unit(
            {.name = "a", .width = 12, .heads = 3, .dropout = 0.5, .output_dropout = dropped})),
        share, 0.15);
  }
}

}  // namespace
}  // namespace penstock::layers
