#include "layers/models/attention_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "layers/models/decoders.h"
#include "layers/nn/linear.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/sequence_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;

/// The decoders of tests/golden/cases/attention_decoder.py.
DecoderOptions golden_options(const std::string& model) {
  DecoderOptions options{.width = 12,
                         .layers = 2,
                         .activation = "relu",
                         .heads = 3,
                         .inner = 20,
                         .smoothing = 0.1,
                         .prompt = {5, 3},
                         .bos = 1,
                         .eos = 2,
                         .positions = "learned",
                         .max_positions = 11,
                         .embedding_norm = true,
                         .head_bias = true};
  if (model == "canary_computed") options.positions = "canary";
  if (model.starts_with("canary")) return options;
  options.activation = "gelu";
  options.ctc_weight = 0.25;
  options.embedding_norm = options.head_bias = options.key_bias = false;
  return options;
}

std::string golden_name(const std::string& parameter) {
  return parameter == "decoder.text.positions" ? "positions" : parameter;
}

/// Returns the sum of both parts of each utterance's loss, if there are two.
std::vector<double> sums_of_parts(const std::vector<double>& losses, std::size_t utterances) {
  std::vector<double> sums(losses.begin(),
                           losses.begin() + static_cast<std::ptrdiff_t>(utterances));
  for (std::size_t i = utterances; i < losses.size(); ++i) sums[i % utterances] += losses[i];
  return sums;
}

class AttentionDecoderGolden : public testing::TestWithParam<const char*> {};

TEST_P(AttentionDecoderGolden, AgreesWithTransformers) {
  const std::string model = GetParam();
  const Golden golden("attention_decoder_" + model.substr(0, model.find('_')));
  const Loss loss = attention_decoder().loss(golden_options(model));
  std::vector<std::unique_ptr<Layer>> sequence;
  sequence.push_back(std::make_unique<Linear>(LinearOptions{.name = "output", .in = 7, .out = 12}));
  loss.add_layers(sequence, 9);
  Labels labels(labels_of(golden), 1);
  test::SequenceRunner runner(
      sequence, {DType::f64, {{golden.integers("lengths"), 7}}, labels.counts()}, labels.targets);
  const std::size_t utterances = labels.lengths.size();
  labels.losses.assign(utterances * runner.layers().back()->plan().losses, NAN);
  labels.targets.losses = labels.losses;
  for (const auto& layer : runner.layers())
    for (std::size_t i = 0; i < layer->params().size(); ++i)
      golden.copy(golden_name(layer->plan().params[i].name), layer->params()[i]);
  golden.copy("x", runner.layers().front()->input().only().x_FC);
  runner.forward();
  runner.backward();
  EXPECT_LE(test::relative_error(sums_of_parts(labels.losses, utterances), golden["losses"]), 1e-6);
  for (const auto& layer : runner.layers())
    for (std::size_t i = 0; i < layer->params().size(); ++i) {
      const std::string name = layer->plan().params[i].name;
      if (golden.has("d " + name)) {
        EXPECT_LE(golden.error(layer->grads()[i], "d " + name), 1e-6) << name;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, AttentionDecoderGolden,
                         testing::Values("whisper", "canary", "canary_computed"),
                         [](const auto& info) { return std::string(info.param); });

std::vector<std::string> layers_of(const DecoderOptions& options) {
  std::vector<std::unique_ptr<Layer>> sequence;
  attention_decoder().loss(options).add_layers(sequence, 9);
  std::vector<std::string> names;
  for (const auto& layer : sequence) names.push_back(layer->name());
  return names;
}

TEST(AttentionDecoder, NamesItsLayers) {
  EXPECT_EQ(layers_of({.width = 8, .heads = 2, .inner = 5}),
            (std::vector<std::string>{
                "decoder.text", "decoder.block1.attention", "decoder.block1.cross_attention",
                "decoder.block1.feed_forward", "decoder.norm", "decoder.output"}));
  const std::vector<std::string> all = layers_of({.width = 8,
                                                  .ctc_weight = 0.3,
                                                  .heads = 2,
                                                  .inner = 5,
                                                  .dropout = 0.1,
                                                  .embedding_norm = true});
  for (const char* name : {"decoder.text_norm", "decoder.text_dropout", "decoder.ctc"})
    EXPECT_EQ(std::ranges::count(all, name), 1) << name;
}

TEST(AttentionDecoder, DeclaresItsLoss) {
  const Loss plain = attention_decoder().loss({.width = 8, .eos = 4, .project = false});
  EXPECT_EQ(plain.channels(9), 8);
  EXPECT_FALSE(plain.projects);
  EXPECT_EQ(plain.writing->eos, 4);
  EXPECT_EQ(plain.most_labels, 0);
  EXPECT_EQ(plain.make_ctc_decoder, nullptr);
  const std::vector<std::int32_t> twice = {3, 3};
  EXPECT_EQ(plain.frames_needed(twice), 1);
  const Loss beside_ctc = attention_decoder().loss(
      {.ctc_weight = 0.3, .prompt = {1, 2}, .positions = "learned", .max_positions = 20});
  EXPECT_EQ(beside_ctc.frames_needed(twice), 3);
  EXPECT_EQ(beside_ctc.most_labels, 17);
  EXPECT_EQ(attention_decoder().loss({.positions = "canary", .max_positions = 20}).most_labels, 19);
  EXPECT_NE(beside_ctc.make_ctc_decoder, nullptr);
  const Loss quiet = attention_decoder().loss({.suppress = {3, 5}, .begin_suppress = {0}});
  EXPECT_EQ(quiet.writing->suppress, (std::vector<std::int32_t>{3, 5}));
  EXPECT_EQ(quiet.writing->begin_suppress, (std::vector<std::int32_t>{0}));
}

TEST(AttentionDecoder, NamesContradictions) {
  const auto refused = [](const DecoderOptions& options) {
    std::vector<std::string> keys;
    for (const Contradiction& wrong : contradictions(attention_decoder(), options))
      keys.emplace_back(wrong.key);
    return keys;
  };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(refused({.width = 64}), Keys{});
  EXPECT_EQ(refused({.width = 60}), Keys{"decoder.heads"});
  EXPECT_EQ(refused({.width = 64, .kv_heads = 3}), Keys{"decoder.kv_heads"});
  EXPECT_EQ(refused({.width = 64, .activation = "tanh"}), Keys{"decoder.activation"});
  EXPECT_EQ(refused({.width = 64, .prompt = {1}, .positions = "learned", .max_positions = 2}),
            Keys{"decoder.max_positions"});
  EXPECT_EQ(refused({.width = 3, .heads = 3, .positions = "canary"}), Keys{"decoder.width"});
  EXPECT_EQ(refused({.width = 64, .bias = false, .key_bias = false}), Keys{"decoder.key_bias"});
  EXPECT_EQ(refused({.width = 64, .rotary_base = 500}), Keys{"decoder.rotary_base"});
}

}  // namespace
}  // namespace penstock::layers
