#include "runtime/huggingface/attention_class.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/import.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/runtime/evaluated_model.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

constexpr const char* kWhisper = "whisper_for_conditional_generation";
constexpr const char* kCanary = "canary_for_conditional_generation";
constexpr const char* kCohereAsr = "cohere_asr_for_conditional_generation";

class AttentionClass : public testing::Test {
 protected:
  static std::filesystem::path golden(const std::string& name) {
    return test::source("tests/golden/" + name);
  }

  Checkpoint import(const std::string& name, const ImportChoices& choices = {}) {
    return import_of(golden(name), choices);
  }

  Checkpoint import_of(const std::filesystem::path& folder, const ImportChoices& choices = {}) {
    std::filesystem::remove_all(checkpoint_);
    report_ = import_model(folder, checkpoint_, choices);
    return open_checkpoint(checkpoint_);
  }

  /// Copies a folder, with another text in one of its files.
  std::filesystem::path changed(const std::string& name, const char* file, const std::string& from,
                                const std::string& to) {
    const auto folder = output_.path() / "changed";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(golden(name), folder);
    test::change_text(folder / file, from, to);
    return folder;
  }

  void expect_fault(const std::filesystem::path& folder, const std::string& said,
                    const ImportChoices& choices = {}) {
    const std::string message = test::message_of<Error>([&] { (void)import_of(folder, choices); });
    EXPECT_NE(message.find(said), std::string::npos) << said << " is not in: " << message;
  }

  static void expect_keys(const Checkpoint& checkpoint,
                          const std::vector<std::array<const char*, 2>>& keys) {
    for (const auto& [key, value] : keys)
      EXPECT_EQ(checkpoint.state().config.at(key), value) << key;
  }

  test::TemporaryFolder output_;
  std::filesystem::path checkpoint_ = output_.path() / "checkpoint";
  ImportReport report_;
};

// The losses depend on every tensor and on the prompt, and are equal only if each has its place.
class AttentionClassLosses : public AttentionClass,
                             public testing::WithParamInterface<std::pair<const char*, int>> {};

TEST_P(AttentionClassLosses, AreThoseOfTransformers) {
  const auto [name, labels] = GetParam();
  const Checkpoint checkpoint = import(name);
  const test::Golden values(std::string(name) + "/logits");
  test::EvaluatedModel model(checkpoint, values, labels);
  EXPECT_LE(test::relative_error(model.losses(), values["losses"]), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Classes, AttentionClassLosses,
                         testing::Values(std::pair{kWhisper, 268}, std::pair{kCanary, 19},
                                         std::pair{kCohereAsr, 18}),
                         [](const auto& info) {
                           const std::string name = info.param.first;
                           return name.substr(0, name.find('_'));
                         });

// Rows before that of <|endoftext|>, 259, move by one, and the others keep their numbers.
TEST_F(AttentionClass, TakesWhispersSettings) {
  expect_keys(import(kWhisper), {{"model.kind", "whisper"},
                                 {"model.decoder", "attention"},
                                 {"model.classes", "268"},
                                 {"model.width", "12"},
                                 {"model.heads", "3"},
                                 {"model.inner", "20"},
                                 {"model.max_frames", "31"},
                                 {"model.stored_positions", "true"},
                                 {"decoder.width", "12"},
                                 {"decoder.inner", "18"},
                                 {"decoder.activation", "gelu"},
                                 {"decoder.positions", "learned"},
                                 {"decoder.max_positions", "14"},
                                 {"decoder.key_bias", "false"},
                                 {"decoder.tied", "true"},
                                 {"decoder.prompt", "[260, 261, 264]"},
                                 {"decoder.bos", "266"},
                                 {"decoder.eos", "0"},
                                 {"features.kind", "whisper-30s"},
                                 {"text.kind", "bpe"}});
  EXPECT_EQ(report_.labels, 268);
  EXPECT_EQ(report_.language, "en");
  EXPECT_FALSE(report_.no_prompt);
  EXPECT_EQ(report_.beyond_head, (std::vector<std::string>{"<|0.02|>", "<|0.04|>"}));
}

TEST_F(AttentionClass, TakesCanarysSettings) {
  expect_keys(import(kCanary), {{"model.kind", "conformer"},
                                {"model.width", "12"},
                                {"decoder.width", "12"},
                                {"decoder.heads", "2"},
                                {"decoder.activation", "relu"},
                                {"decoder.positions", "canary"},
                                {"decoder.max_positions", "17"},
                                {"decoder.embedding_norm", "true"},
                                {"decoder.head_bias", "true"},
                                {"decoder.project", "false"},
                                {"decoder.tied", "true"},
                                {"decoder.prompt", "[7, 4, 11, 12, 12, 5, 8, 9]"},
                                {"decoder.bos", "10"},
                                {"decoder.eos", "0"},
                                {"text.kind", "sentencepiece"}});
}

// A space comes first in its prompt.
TEST_F(AttentionClass, TakesCohereAsrsSettings) {
  expect_keys(import(kCohereAsr), {{"model.width", "12"},
                                   {"decoder.width", "8"},
                                   {"decoder.positions", "learned"},
                                   {"decoder.project", "true"},
                                   {"decoder.tied", "false"},
                                   {"decoder.prompt", "[14, 7, 4, 11, 12, 12, 5, 8, 9]"}});
}

TEST_F(AttentionClass, NamesTheLanguageInThePrompt) {
  expect_keys(import(kWhisper, {.language = "EL"}), {{"decoder.prompt", "[260, 262, 264]"}});
  expect_fault(
      golden(kWhisper),
      "has no row for '<|xx|>': choose with --language among the 2 that it has, such as en "
      "el",
      {.language = "xx"});
}

TEST_F(AttentionClass, HasAPromptForEachLanguage) {
  expect_keys(import(kWhisper, {.languages = {"el", "en"}}),
              {{"decoder.prompt", "[260, 261, 264]"},
               {"decoder.languages", "[el, en]"},
               {"decoder.prompts", "[260, 262, 264, 260, 261, 264]"}});
  EXPECT_EQ(report_.languages, (std::vector<std::string>{"el", "en"}));
  expect_fault(golden(kWhisper), "has no row for '<|xx|>'", {.languages = {"en", "xx"}});
  expect_fault(golden(kWhisper), "names 'EN' a second time", {.languages = {"en", "EN"}});
}

TEST_F(AttentionClass, OfOneLanguageHasAShortPrompt) {
  const auto folder = changed(kWhisper, "generation_config.json", "\"bos_token_id\"",
                              "\"is_multilingual\": false, \"bos_token_id\"");
  expect_keys(import_of(folder), {{"decoder.prompt", "[260]"}, {"decoder.bos", "266"}});
  EXPECT_EQ(report_.language, "");
  expect_fault(folder, "leave out --language el", {.language = "el"});
  expect_fault(folder, "leave out --language el", {.languages = {"el"}});
}

// transformers does not read the table of a tied head, and some folders hold it.
TEST_F(AttentionClass, IgnoresTheTableOfATiedHead) {
  const auto folder = output_.path() / "folder";
  std::filesystem::copy(golden(kWhisper), folder);
  test::change_tensors(folder / "model.safetensors", [](test::FileTensors& tensors) {
    tensors["proj_out.weight"] = tensors.at("model.decoder.embed_tokens.weight");
  });
  EXPECT_NO_THROW((void)import_of(folder));
}

TEST_F(AttentionClass, RefusesOtherModelsByName) {
  const std::vector<std::array<std::string, 4>> cases = {
      {kWhisper, R"("scale_embedding": false)", R"("scale_embedding": true)",
       "scale_embedding is true, but penstock's models have false"},
      {kWhisper, R"("activation_function": "gelu")", R"("activation_function": "relu")",
       R"(activation_function is "relu", but penstock's models have "gelu")"},
      {kWhisper, R"("tie_word_embeddings": true)", R"("tie_word_embeddings": false)",
       "it lacks proj_out.weight"},
      {kCanary, R"("num_key_value_heads": 2)", R"("num_key_value_heads": 1)",
       "decoder_config.num_key_value_heads is 1, but penstock's models have 2"},
      {kCanary, R"("hidden_act": "relu")", R"("hidden_act": "tanh")",
       R"(decoder_config.hidden_act is "tanh", but penstock's models have relu or gelu or silu)"},
      {kCohereAsr, R"("head_dim": 4)", R"("head_dim": 8)",
       "head_dim is 8, but penstock's models have 4"},
  };
  for (const auto& [name, from, to, said] : cases)
    expect_fault(changed(name, "config.json", from, to), said);
}

TEST_F(AttentionClass, NamesTheSettingsOfAMissingObject) {
  const auto folder = changed(kCanary, "config.json", "\"encoder_config\"", "\"other_config\"");
  expect_fault(
      folder,
      "feature_size is 16, but the model of config.json takes 80 mel channels, because that "
      "file lacks encoder_config.num_mel_bins");
  test::change_text(
      folder / "config.json", R"("bos_token_id": 4,
  "decoder_config")",
      R"("encoder_config": {"num_mel_bins": 16, "hidden_size": 12}, "decoder_config")");
  expect_fault(folder, "encoder_config.num_hidden_layers, so 24 was taken");
}

// Nothing is assumed where all is there, and what was assumed is not said where tensors fit.
TEST_F(AttentionClass, MayLackSettingsThatFit) {
  const auto folder = changed(kCanary, "config.json", R"("subsampling_conv_kernel_size": 3,)", "");
  EXPECT_NO_THROW((void)import_of(folder));
  test::change_text(folder / "config.json", R"("hidden_size": 12,
    "initializer_range": 0.02,
    "intermediate_size": 20,)",
                    R"("hidden_size": 12, "intermediate_size": 21,)");
  const std::string message = test::message_of<Error>([&] { (void)import_of(folder); });
  EXPECT_NE(message.find("of another shape or type"), std::string::npos) << message;
  EXPECT_EQ(message.find("lacks encoder_config.intermediate_size"), std::string::npos) << message;
}

TEST_F(AttentionClass, RefusesAnEndThatIsText) {
  expect_fault(changed(kWhisper, "config.json", "\"eos_token_id\": 259", "\"eos_token_id\": 70"),
               "in the row of the token that ends texts, 70, and texts may have it");
  expect_fault(
      changed(kCohereAsr, "config.json", "\"eos_token_id\": 3", "\"eos_token_id\": 15"),
      "has the token 'α' in row 15, which may be text; penstock writes no text with the token "
      "that ends texts");
  expect_fault(
      changed(kCohereAsr, "config.json", "\"eos_token_id\": 3", "\"eos_token_id\": 99"),
      "eos_token_id is 99, but the head has 18 rows: it must name the row of the token that "
      "ends texts");
}

}  // namespace
}  // namespace penstock::runtime
