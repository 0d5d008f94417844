#include "runtime/onnx/layer_graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/qwen3_asr.h"
#include "layers/nn/linear.h"
#include "partition/layout/build_model.h"
#include "tests/support/runtime/built_graph.h"
#include "tests/support/runtime/small_families.h"

namespace penstock::runtime {
namespace {

constexpr int kLabels = 5;

std::string error_for(const configs::ModelConfig& model) {
  try {
    const test::BuiltGraph graph(partition::build_model(model, kLabels));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LayerGraph, HasASoundGraphOfEachFamily) {
  int families = 0;
  for (const test::SmallFamily& family : test::small_families()) {
    if (family.decoder != "ctc" || family.options.name() == "qwen3_asr") continue;
    SCOPED_TRACE(family.name);
    const test::BuiltGraph graph(partition::build_model(family.model(), kLabels));
    EXPECT_EQ(graph.model().faults(), std::vector<std::string>{});
    EXPECT_EQ(graph.floats("output.bias").size(), static_cast<std::size_t>(kLabels));
    ++families;
  }
  EXPECT_GE(families, 8);
}

TEST(LayerGraph, NamesALayerWithoutAForm) {
  const std::string error =
      error_for({.features = 16,
                 .family = layers::Qwen3AsrOptions{
                     .channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 20}});
  EXPECT_NE(error.find("has no form in ONNX here"), std::string::npos) << error;
}

TEST(LayerGraph, FillsUpBiasesOfALinearLayer) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Linear>(
      layers::LinearOptions{.name = "a", .in = 2, .out = 5, .first_unbiased = 1, .unbiased = 3}));
  const test::BuiltGraph graph(std::move(sequence), 2);
  EXPECT_EQ(graph.floats("a.bias"), (std::vector<float>{1, 0, 0, 0, 2}));
  EXPECT_EQ(graph.model().operators(), (std::vector<std::string>{"Gemm", "Identity"}));
}

TEST(LayerGraph, AppliesALinearLayerToEachPart) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<layers::Linear>(
      layers::LinearOptions{.name = "a", .in = 2, .out = 3, .bias = false, .parts = 4}));
  const test::BuiltGraph graph(std::move(sequence), 8);
  EXPECT_EQ(graph.model().operators(),
            (std::vector<std::string>{"Reshape", "Gemm", "Reshape", "Identity"}));
  EXPECT_EQ(graph.model().nodes[2].inputs[1], "[-1,12]");
}

}  // namespace
}  // namespace penstock::runtime
