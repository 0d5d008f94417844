#include "runtime/corpus/corpora.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/transformer.h"
#include "partition/layout/build_model.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

/// Three stages of two replicas: rank = 3 · replica + stage.
CorpusReaders readers_for(const std::string& schedule) {
  configs::Config config;
  config.pipeline.stages = 3;
  config.pipeline.replicas = 2;
  config.pipeline.schedule = schedule;
  return corpus_readers(config, {}, {});
}

TEST(CorpusReaders, AreTheFirstStageAndTheLosses) {
  for (const char* schedule : {"1f1b", "interleaved-3"}) {
    EXPECT_EQ(readers_for(schedule).texts, (std::vector{2, 5}));
    EXPECT_EQ(readers_for(schedule).audio, (std::vector{0, 3}));
  }
  EXPECT_EQ(readers_for("dualpipe-v").texts, (std::vector{0, 3}));
  EXPECT_EQ(readers_for("dualpipe-v").audio, (std::vector{0, 3}));
}

TEST(CorpusReaders, AreBothEndsWhileListsAreSought) {
  EXPECT_EQ(readers_for("found").texts, (std::vector{2, 5, 0, 3}));
  EXPECT_EQ(readers_for("found").audio, (std::vector{0, 3}));
}

/// A layer in the middle reads labels, so the shapes of all stages after it depend on them.
TEST(CorpusReaders, AreAllRanksWithALanguageModel) {
  configs::Config config;
  config.model.decoder = "lm";
  config.model.networks = {.width = 8, .layers = 1, .heads = 2, .inner = 5};
  config.model.family = layers::DeepSpeech2Options{.channels = 2, .hidden = 8, .layers = 1};
  const partition::LayerSequence sequence = partition::build_model(config.model, 29);
  config.pipeline.stages = 3;
  config.pipeline.replicas = 2;
  for (const char* schedule : {"1f1b", "dualpipe-v", "found"}) {
    config.pipeline.schedule = schedule;
    const CorpusReaders readers = corpus_readers(config, sequence, {});
    EXPECT_EQ(readers.texts, (std::vector{0, 3, 1, 4, 2, 5})) << schedule;
    EXPECT_EQ(readers.audio, (std::vector{0, 3})) << schedule;
  }
}

/// A loss after a block may lie on any stage.
TEST(CorpusReaders, AreAllRanksWithIntermediateCtc) {
  configs::Config config;
  layers::TransformerOptions options{
      .channels = 2, .width = 8, .heads = 2, .layers = 2, .inner = 5};
  for (const bool with_loss : {false, true}) {
    if (with_loss) options.intermediate.blocks = {1};
    config.model.family = options;
    config.pipeline.stages = 3;
    const partition::LayerSequence sequence = partition::build_model(config.model, 29);
    EXPECT_EQ(corpus_readers(config, sequence, {}).texts,
              with_loss ? (std::vector{0, 1, 2}) : (std::vector{2}));
  }
}

/// Returns the error about a model that takes other channels than these features make.
std::string fault_of_channels(int wanted, configs::FeatureConfig features) {
  configs::Config config;
  config.model.features = wanted;
  config.features = std::move(features);
  return test::message_of<ConfigError>([&] { check_features(config); });
}

TEST(CorpusFeatures, SayWhatMakesTheModelsChannels) {
  configs::FeatureConfig features;
  features.kind = "fbank";
  EXPECT_NE(fault_of_channels(160, features).find("set features.stack=2, or model.features=80"),
            std::string::npos);
  EXPECT_NE(fault_of_channels(64, features).find("set features.mels=64, or"), std::string::npos);
  features.stack = 2;
  EXPECT_EQ(fault_of_channels(160, features), "");
  EXPECT_NE(fault_of_channels(128, features).find("set features.mels=64, or model.features=160"),
            std::string::npos);
}

TEST(EndOfText, IsNoCharacterOfTheAlphabet) {
  configs::Config config;
  config.model.decoder = "lm";
  config.text.alphabet = "ab\U000F0003c";
  const auto fault = [&](int eos) {
    config.model.networks.eos = eos;
    return test::message_of<ConfigError>([&] { check_end_of_text(config); });
  };
  for (const int eos : {0, 3, 5}) EXPECT_EQ(fault(eos), "") << eos;
  EXPECT_EQ(fault(2),
            "decoder.eos = 2 is 'b' of text.alphabet, so texts would end there: set decoder.eos=0, "
            "or decoder.eos=5 model.classes=6");
  EXPECT_NE(fault(4), "");
  config.model.decoder = "rnnt";
  EXPECT_EQ(fault(2), "");
}

TEST(EndOfText, IsNoTokenThatAddsText) {
  configs::Config config;
  config.model.decoder = "attention";
  config.text.kind = "bpe";
  config.text.model = test::source("tests/golden/byte_pairs/qwen2.json").string();
  const auto tokenizer = make_tokenizer(config.text);
  const std::vector<Label> labels = tokenizer->vocabulary();
  const auto place = [&](const std::string& written) {
    const auto found = std::ranges::find(labels, written, &Label::written);
    return static_cast<int>(found - labels.begin());
  };
  const auto fault = [&](int eos) {
    config.model.networks.eos = eos;
    return test::message_of<ConfigError>([&] { check_end_of_text(config, *tokenizer); });
  };
  EXPECT_EQ(fault(0), "");
  EXPECT_EQ(fault(place("<|endoftext|>")), "");
  EXPECT_EQ(
      fault(place("a")),
      fmt::format("decoder.eos = {} is the label 'a' of text.model, so texts would end there: "
                  "set decoder.eos=0, or the label of a special token, which is its id in "
                  "transformers and 1 more",
                  place("a")));
}

}  // namespace
}  // namespace penstock::runtime
