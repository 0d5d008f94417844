#include "layers/models/decoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/decoders.h"
#include "tests/support/layers/layer_runner.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

Loss loss(std::string_view kind, const DecoderOptions& options = {}) {
  return find_decoder(decoders(), kind).loss(options);
}

TEST(Decoder, IsFoundByItsName) {
  std::string known;
  for (const DecoderKind& decoder : decoders()) known += ", " + std::string(decoder.name);
  EXPECT_EQ(test::message_of<ConfigError>([] { (void)find_decoder(decoders(), "squares"); }),
            "no decoder is named squares: it is one of " + known.substr(2));
}

TEST(DecoderLoss, OfCtcTakesOneNumberForEachClass) { EXPECT_EQ(loss("ctc").channels(9), 9); }

TEST(DecoderLoss, OfCtcIsSmoothed) {
  const std::vector<std::int32_t> labels = {1}, counts = {1};
  const std::vector<float> weights = {1};
  for (const double smoothing : {0.0, 0.5}) {
    std::vector<std::unique_ptr<Layer>> layers;
    loss("ctc", {.smoothing = smoothing}).add_layers(layers, 3);
    std::vector<double> losses(1);
    Targets targets{labels, counts, weights, 1, losses};
    test::LayerRunner runner(*layers.back(), {DType::f64, {{{1}, 3}}});
    runner.targets = &targets;
    test::assign(runner.input().only().x_FC, std::vector<double>{0, 40, 0});
    runner.forward();
    EXPECT_NEAR(losses.front(), smoothing * 80 / 3, 1e-12);  // 40 for each other class
  }
}

TEST(DecoderLoss, HasTheNetworksOfTheOptions) {
  const Loss tdt = loss("tdt", {.width = 5, .layers = 2, .joint = 7, .durations = {0, 2, 3}});
  EXPECT_EQ(tdt.channels(9), 7);
  EXPECT_EQ(tdt.frames_needed({}), 2);
  std::vector<std::unique_ptr<Layer>> layers;
  tdt.add_layers(layers, 9);
  const auto plan = layers.back()->plan({DType::f32, {{{4}, 7}}}, {});
  EXPECT_EQ(plan.params.front().shape, (Shape{9, 5}));
  EXPECT_EQ(plan.params.back().shape, (Shape{9 + 3}));
  EXPECT_EQ(plan.params.size(), 1u + 2 * 4 + 2 + 2);
}

TEST(DecoderLoss, ALabelTakesTheShortestDuration) {
  const std::vector<std::int32_t> labels = {3, 1, 1};
  EXPECT_EQ(loss("rnnt").frames_needed(labels), 1);
  EXPECT_EQ(loss("tdt", {.durations = {2, 4}}).frames_needed(labels), 3 * 2 + 2);
}

TEST(DecoderLoss, OfALanguageModelHasAllItsLayers) {
  const Loss lm = loss("lm", {.width = 8, .layers = 2, .heads = 2, .inner = 5, .eos = 3});
  EXPECT_EQ(lm.channels(9), 8);
  ASSERT_TRUE(lm.writing);
  EXPECT_EQ(lm.writing->eos, 3);
  EXPECT_EQ(lm.frames_needed(std::vector<std::int32_t>(99, 1)), 1);
  std::vector<std::unique_ptr<Layer>> layers;
  lm.add_layers(layers, 9);
  std::vector<std::string> names;
  std::int64_t parameters = 0;
  ActivationDecl input{DType::f32, {{{4, 2}, 8}}, {3, 0}};
  for (const auto& layer : layers) {
    names.push_back(layer->name());
    const LayerPlan plan = layer->plan(input, {});
    for (const ParamDecl& p : plan.params) parameters += element_count(p.shape);
    input = next_input(input, plan);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "decoder.text", "decoder.block1.attention", "decoder.block1.feed_forward",
                       "decoder.block2.attention", "decoder.block2.feed_forward", "decoder.norm",
                       "decoder.output"}));
  EXPECT_EQ(parameters, 2 * 9 * 8 + 2 * (4 * 8 * 8 + 3 * 8 * 5 + 2 * 8) + 8);
}

TEST(DecoderLoss, RefusesHeadsThatDoNotDivideTheWidth) {
  const DecoderKind lm = find_decoder(decoders(), "lm");
  EXPECT_EQ(lm.contradictions({.width = 12, .heads = 3}).size(), 0u);
  for (const int heads : {4, 5, 12})
    EXPECT_EQ(lm.contradictions({.width = 12, .heads = heads}).front().key, "decoder.heads");
  EXPECT_EQ(lm.contradictions({.width = 12, .heads = 5, .head_channels = 4}).size(), 0u);
  EXPECT_EQ(lm.contradictions({.width = 12, .heads = 4, .head_channels = 3}).front().key,
            "decoder.head_channels");
  EXPECT_EQ(lm.contradictions({.width = 16, .heads = 4, .kv_heads = 3}).front().key,
            "decoder.kv_heads");
}

/// Returns the keys that contradict in a language model with these prompts.
std::vector<std::string_view> contradicting(const DecoderOptions& options) {
  std::vector<std::string_view> keys;
  for (const Contradiction& one : contradictions(find_decoder(decoders(), "lm"), options))
    keys.push_back(one.key);
  return keys;
}

TEST(DecoderLanguages, HavePromptsOfOneLength) {
  using Keys = std::vector<std::string_view>;
  const DecoderOptions good{.prompt = {1, 2}, .languages = {"en", "de"}, .prompts = {3, 4, 5, 6}};
  EXPECT_EQ(contradicting(good), Keys{});
  DecoderOptions options = good;
  options.prompts.pop_back();
  EXPECT_EQ(contradicting(options), Keys{"decoder.prompts"});
  options = good;
  options.prompt = {};
  EXPECT_EQ(contradicting(options), Keys{"decoder.languages"});
  options = good;
  options.languages = {"en", "en"};
  EXPECT_EQ(contradicting(options), Keys{"decoder.languages"});
  options.languages = {"de-AT", "DE_at"};
  EXPECT_EQ(contradicting(options), Keys{"decoder.languages"});
  options.languages = {"", "de"};
  EXPECT_EQ(contradicting(options), Keys{"decoder.languages"});
  options.languages = {};
  EXPECT_EQ(contradicting(options), Keys{"decoder.prompts"});
}

TEST(DecoderLanguages, AreChosenByName) {
  DecoderOptions options{.prompt = {1, 2}, .languages = {"en", "de"}, .prompts = {3, 4, 5, 6}};
  EXPECT_EQ(test::message_of<ConfigError>([&] { choose_language(options, "fr"); }),
            "the model has no prompt of the language 'fr': it has those of en, de");
  choose_language(options, "de");
  EXPECT_EQ(options.prompt, (std::vector<int>{5, 6}));
  EXPECT_TRUE(options.languages.empty() && options.prompts.empty());
  EXPECT_EQ(test::message_of<ConfigError>([&] { choose_language(options, "de"); }),
            "the model has no prompt of the language 'de', nor of any other: decoder.languages is "
            "empty");
}

TEST(Decoder, RefusesKeysThatItDoesNotRead) {
  const auto refused = [](std::string_view kind, const DecoderOptions& options) {
    std::vector<std::string_view> keys;
    for (const Contradiction& one : contradictions(find_decoder(decoders(), kind), options))
      keys.push_back(one.key);
    return keys;
  };
  using Keys = std::vector<std::string_view>;
  EXPECT_EQ(refused("ctc", {.width = 64, .eos = 2}), (Keys{"decoder.width", "decoder.eos"}));
  EXPECT_EQ(refused("rnnt", {.width = 64, .durations = {0, 1}, .ctc_weight = 0.3}), Keys());
  EXPECT_EQ(refused("tdt", {.dropout = 0.1, .smoothing = 0.1}),
            (Keys{"decoder.dropout", "decoder.smoothing"}));
  EXPECT_EQ(refused("lm", {.width = 64, .durations = {0, 1}, .ctc_weight = 0.3}),
            (Keys{"decoder.durations", "decoder.ctc_weight"}));
}

}  // namespace
}  // namespace penstock::layers
