#include "layers/models/lora.h"

#include <gtest/gtest.h>

#include "layers/models/residual_units.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/residual.h"

namespace penstock::layers {
namespace {

using Names = std::vector<std::string>;

std::vector<std::unique_ptr<Layer>> sequence() {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Linear>(LinearOptions{.name = "in", .in = 4, .out = 6}));
  layers.push_back(
      std::make_unique<Linear>(LinearOptions{.name = "rows", .in = 3, .out = 3, .parts = 2}));
  layers.push_back(attention_unit({.name = "block1.attention", .width = 6, .heads = 2}));
  layers.push_back(std::make_unique<ClippedReLU>("act"));
  return layers;
}

Names parameters(const Layer& layer, std::int64_t channels) {
  Names names;
  for (const ParamDecl& p : layer.plan({DType::f32, {{{5, 2}, channels}}}, {}).params)
    names.push_back(p.name);
  return names;
}

TEST(Lora, FindsLinearLayersAlsoWithinUnits) {
  EXPECT_EQ(adaptable_layers(sequence()),
            (Names{"in", "block1.attention.qkv", "block1.attention.output"}));
}

TEST(Lora, AdaptsTheChosenLayersAlone) {
  std::vector<std::unique_ptr<Layer>> layers = sequence();
  adapt_layers(layers, {.rank = 2}, [](const std::string& name) { return name.ends_with("qkv"); });
  EXPECT_EQ(parameters(*layers[0], 4), (Names{"in.weight", "in.bias"}));
  EXPECT_EQ(parameters(*layers[2], 6),
            (Names{"block1.attention.norm.weight", "block1.attention.norm.bias",
                   "block1.attention.qkv.weight", "block1.attention.qkv.bias",
                   "block1.attention.qkv.lora_A.weight", "block1.attention.qkv.lora_B.weight",
                   "block1.attention.output.weight", "block1.attention.output.bias"}));
  EXPECT_NE(dynamic_cast<Residual*>(layers[2].get()), nullptr);
}

TEST(Lora, KnowsItsParametersByName) {
  EXPECT_TRUE(is_lora_parameter("block1.attention.qkv.lora_A.weight"));
  EXPECT_TRUE(is_lora_parameter("in.lora_B.weight"));
  EXPECT_FALSE(is_lora_parameter("in.weight"));
}

}  // namespace
}  // namespace penstock::layers
