#include "layers/models/language_model_decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/nn/residual.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/sequence_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerSequence;
using test::numbers;

/// The decoder of tests/golden/cases/qwen3_decoder.py.
DecoderOptions golden_options() {
  return {.width = 12,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_channels = 6,
          .qk_norm = true,
          .inner = 15,
          .rotary_base = 1e6,
          .norm_epsilon = 1e-6,
          .tied = true,
          .prompt = {7, 4},
          .bos = 1,
          .eos = 2};
}

LayerSequence layers_of(const DecoderOptions& options, int classes) {
  LayerSequence sequence;
  language_model_decoder().loss(options).add_layers(sequence, classes);
  return sequence;
}

/// Numbers of all parameters, with a tied table counted once.
std::int64_t parameters_of(const DecoderOptions& options, int classes = 9) {
  std::int64_t parameters = 0;
  ActivationDecl input{DType::f32, {{{4, 2}, options.width}}, {3, 0}};
  for (const auto& layer : layers_of(options, classes)) {
    const LayerPlan plan = layer->plan(input, {});
    for (const ParamDecl& p : plan.params)
      if (!p.tied()) parameters += element_count(p.shape);
    input = next_input(input, plan);
  }
  return parameters;
}

/// The sum of the two gradients of a tied table, as a step adds them.
std::vector<double> added(const std::vector<double>& of_owner, std::vector<double> of_reader) {
  for (std::size_t i = 0; i < of_reader.size(); ++i) of_reader[i] = of_owner[i] + of_reader[i];
  return of_reader;
}

TEST(LanguageModelDecoder, ComputesWhatQwen3Does) {
  const Golden golden("qwen3_decoder");
  const LayerSequence sequence = layers_of(golden_options(), 23);
  Labels labels(labels_of(golden), 1);
  test::SequenceRunner runner(
      sequence, {DType::f64, {{golden.integers("lengths"), 12}}, labels.counts()}, labels.targets);
  const auto& layers = runner.layers();
  golden.copy("x", layers.front()->input().only().x_FC);
  for (const auto& layer : layers)
    for (const ParamDecl& p : layer->plan().params)
      golden.copy(p.saved_name(), layer->param(p.name));
  runner.forward();
  runner.backward();
  layers.front()->backward_input();
  EXPECT_LE(test::relative_error(labels.losses, golden["losses"]), 1e-6);
  EXPECT_LE(golden.error(layers.front()->input_gradient().only().x_FC, "dx"), 1e-5);
  for (const auto& layer : layers)
    for (const ParamDecl& p : layer->plan().params) {
      if (p.tied() || p.name == "decoder.text.weight") continue;
      EXPECT_LE(golden.error(layer->grad(p.name), "d " + p.name), 1e-5) << p.name;
    }
  const auto of_owner = numbers(layers.front()->grad("decoder.text.weight"));
  const auto of_reader = numbers(layers.back()->grad("decoder.output.weight"));
  EXPECT_LE(test::relative_error(added(of_owner, of_reader), golden["d decoder.text.weight"]),
            1e-5);
}

TEST(LanguageModelDecoder, NormsQueriesAndKeysOfEveryBlock) {
  const DecoderOptions usual{.width = 8, .layers = 2, .heads = 2, .inner = 5};
  DecoderOptions qwen3 = usual;
  qwen3.qk_norm = true;
  EXPECT_EQ(parameters_of(qwen3), parameters_of(usual) + 2 * 2 * 4);
  qwen3.tied = true;
  EXPECT_EQ(parameters_of(qwen3), parameters_of(usual) + 2 * 2 * 4 - 9 * 8);
}

// The numbers are those of transformers' Qwen3ForCausalLM for the text_config of Qwen3-ASR's two
// sizes.
TEST(LanguageModelDecoder, HasAsManyParametersAsQwen3) {
  DecoderOptions options{.width = 1024,
                         .layers = 28,
                         .heads = 16,
                         .kv_heads = 8,
                         .head_channels = 128,
                         .qk_norm = true,
                         .inner = 3072,
                         .tied = true};
  EXPECT_EQ(parameters_of(options, 151936), 596'049'920);
  options.width = 2048;
  options.inner = 6144;
  EXPECT_EQ(parameters_of(options, 151936), 1'720'574'976);
}

// A row whose mean square is 1e-6 shrinks to 1/√2 with an epsilon of 1e-6.
TEST(LanguageModelDecoder, PassesTheEpsilonToEveryNorm) {
  const LayerSequence layers =
      layers_of({.width = 8, .layers = 1, .heads = 2, .inner = 5, .norm_epsilon = 1e-6}, 9);
  std::vector<const Layer*> norms = {layers.at(3).get()};
  for (const int unit : {1, 2})
    norms.push_back(dynamic_cast<const Residual&>(*layers.at(unit)).sequence().front().get());
  for (const Layer* norm : norms) {
    test::LayerRunner runner(*norm, {DType::f64, {{{1}, 8}}});
    test::assign(runner.input().only().x_FC, std::vector<double>(8, 1e-3));
    test::assign(runner.params()[0], std::vector<double>(8, 1));
    runner.forward();
    EXPECT_NEAR(numbers(runner.output().only().x_FC)[0], std::sqrt(0.5), 1e-12) << norm->name();
  }
}

}  // namespace
}  // namespace penstock::layers
