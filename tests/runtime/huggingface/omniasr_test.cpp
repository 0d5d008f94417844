#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/import.h"
#include "runtime/huggingface/pairing.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/runtime/evaluated_model.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

const std::string kFolder = "omniasr_for_conditional_generation";

class OmniAsr : public testing::Test {
 protected:
  static std::filesystem::path golden() { return test::source("tests/golden/" + kFolder); }

  Checkpoint import(const ImportChoices& choices = {}) {
    std::filesystem::remove_all(checkpoint_);
    report_ = import_model(golden(), checkpoint_, choices);
    return open_checkpoint(checkpoint_);
  }

  /// Fails unless the losses are those of transformers. `known` rows of each text are no labels.
  static void expect_losses(const Checkpoint& checkpoint, const char* theirs, std::int64_t known) {
    const test::Golden values(kFolder + "/logits");
    test::EvaluatedModel model(checkpoint, values, 14);
    std::vector<std::int64_t> rows = values.integers("output_lengths");
    for (std::size_t u = 0; u < rows.size(); ++u)
      rows[u] += known + values.integers("label_counts")[u];
    EXPECT_EQ(model.frames().lengths, rows);
    EXPECT_LE(test::relative_error(model.losses(), values[theirs]), 1e-4);
  }

  /// Returns the error of an import of a copy with another file; "" if there is none.
  std::string fault(const char* file, const std::string& from, const std::string& to,
                    const ImportChoices& choices = {}) {
    const auto folder = output_.path() / "spoilt";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(golden(), folder);
    if (!from.empty()) test::change_text(folder / file, from, to);
    std::filesystem::remove_all(checkpoint_);
    return test::message_of<Error>([&] { import_model(folder, checkpoint_, choices); });
  }

  void expect_fault(const char* file, const std::string& from, const std::string& to,
                    const std::string& said, const ImportChoices& choices = {}) {
    const std::string message = fault(file, from, to, choices);
    EXPECT_NE(message.find(said), std::string::npos) << said << " is not in: " << message;
    EXPECT_FALSE(std::filesystem::exists(checkpoint_));
  }

  test::TemporaryFolder output_;
  std::filesystem::path checkpoint_ = output_.path() / "checkpoint";
  ImportReport report_;
};

// The losses depend on every tensor, and are equal only if each has its place.
TEST_F(OmniAsr, HasTheLossesOfTransformers) { expect_losses(import(), "losses", 1); }

TEST_F(OmniAsr, HasTheLossesOfAPrompt) {
  expect_losses(import({.language = "eng_Latn"}), "prompted_losses", 3);
}

TEST_F(OmniAsr, TakesTheSettings) {
  const Checkpoint checkpoint = import();
  EXPECT_TRUE(report_.no_prompt);
  EXPECT_EQ(report_.labels, 16);
  const auto& config = checkpoint.state().config;
  for (const auto& [key, value] :
       std::vector<std::array<const char*, 2>>{{"model.kind", "wav2vec2"},
                                               {"model.decoder", "lm"},
                                               {"model.classes", "16"},
                                               {"model.width", "12"},
                                               {"decoder.width", "24"},
                                               {"decoder.heads", "3"},
                                               {"decoder.layers", "2"},
                                               {"decoder.inner", "10"},
                                               {"decoder.rotary_base", "10000"},
                                               {"decoder.bos", "0"},
                                               {"decoder.eos", "2"},
                                               {"decoder.prompt", "[]"},
                                               {"text.kind", "sentencepiece"}})
    EXPECT_EQ(config.at(key), value) << key;
}

TEST_F(OmniAsr, HasAPromptForEachLanguage) {
  const auto config =
      import({.language = "auto", .languages = {"eng_latn", "auto"}}).state().config;
  EXPECT_EQ(config.at("decoder.prompt"), "[10, 12]");
  EXPECT_EQ(config.at("decoder.prompts"), "[10, 13, 10, 12]");
}

TEST_F(OmniAsr, NamesTheLanguageInThePrompt) {
  EXPECT_EQ(import({.language = "AUTO"}).state().config.at("decoder.prompt"), "[10, 12]");
  EXPECT_FALSE(report_.no_prompt);
  expect_fault("config.json", "", "",
               "tokenizer.json: has no row for '<|lang:xyz_latn|>': choose with --language among "
               "the 2 that it has, such as auto eng_latn",
               {.language = "xyz_latn"});
  expect_fault("tokenizer.json", "<extra_id_0>", "<other>",
               "has no row for '<extra_id_0>', a token of the prompt", {.language = "auto"});
}

// Configurations before transformers 5 had the base in this place.
TEST_F(OmniAsr, TakesTheEarlierNameOfTheBase) {
  EXPECT_EQ(fault("config.json", R"("rope_parameters": {
      "rope_theta": 10000.0)",
                  R"("rope_theta": 77.0, "unused": {
      "rope_theta": 10000.0)"),
            "");
  EXPECT_EQ(open_checkpoint(checkpoint_).state().config.at("decoder.rotary_base"), "77");
}

TEST_F(OmniAsr, RefusesOtherLlamasByName) {
  const std::vector<std::array<std::string, 3>> cases = {
      {R"("num_key_value_heads": 3)", R"("num_key_value_heads": 1)",
       "text_config.num_key_value_heads is 1, but penstock's models have 3. Heads that share keys "
       "and values are not supported"},
      {R"("head_dim": 8)", R"("head_dim": 16)",
       "text_config.head_dim is 16, but penstock's models have 8"},
      {R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)",
       "text_config.tie_word_embeddings is true, but penstock's models have false. This import "
       "needs a head of its own: save the model with one"},
      {R"("rms_norm_eps": 1e-05)", R"("rms_norm_eps": 1e-06)", "text_config.rms_norm_eps is 1e-06"},
      {R"("mlp_bias": false)", R"("mlp_bias": true)", "text_config.mlp_bias is true"},
      {R"("attention_bias": false)", R"("attention_bias": true)",
       "text_config.attention_bias is true"},
      {R"("hidden_act": "silu")", R"("hidden_act": "gelu")",
       R"(text_config.hidden_act is "gelu", but penstock's models have "silu")"},
      {R"("model_type": "llama")", R"("model_type": "qwen2")",
       R"(text_config.model_type is "qwen2")"},
      {R"("rope_type": "default")", R"("rope_type": "llama3")",
       R"(text_config.rope_parameters.rope_type is "llama3")"},
      {R"("mlp_bias")", R"("rope_scaling": {"type": "linear"}, "mlp_bias")",
       "text_config.rope_scaling is an object, but penstock's models have null"},
      {R"("intermediate_size": 10)", R"("intermediate_size": 11)",
       "model.language_model.layers.0.mlp.gate_proj.weight is [10, 24], expected [11, 24]"},
      {R"("vocab_size": 16)", R"("vocab_size": 17)",
       "lm_head.weight is [16, 24], expected [17, 24]"},
      {R"("vocab_size": 16)", R"("vocab_size": 6)", "gives 'b' row 6, but the head"},
  };
  for (const auto& [from, to, said] : cases) expect_fault("config.json", from, to, said);
}

TEST_F(OmniAsr, RefusesTextInRowZero) {
  const std::string token = R"("content": "<s>",
      "single_word": false,
      "lstrip": false,
      "rstrip": false,
      "normalized": false,
      "special": )";
  expect_fault("tokenizer.json", token + "true", token + "false",
               "has the token '<s>' in row 0, which may be text");
}

TEST_F(OmniAsr, RefusesAnEndThatIsNoRow) {
  expect_fault("config.json", "\"eos_token_id\": 2,\n  \"init", "\"eos_token_id\": 16,\n  \"init",
               "config.json: eos_token_id is 16, but the head has 16 rows: it must name a row");
}

// transformers counts the same in OmniASRForConditionalGeneration, and so do the publications.
TEST(OmniAsrModels, HaveThePublishedParameters) {
  const auto parameters = [](const char* name) {
    const std::vector<std::string> base{fmt::format("model.base=omni-llm-{}", name)};
    const configs::Config config = configs::load_config("", layers::model_families(), base);
    std::int64_t count = 0;
    for (const auto& [tensor, shape] : model_tensors(config.model, 11984))
      count += layers::element_count(shape);
    return count;
  };
  EXPECT_EQ(parameters("300m"), 1638453760);
  EXPECT_EQ(parameters("1b"), 2286560768);
  EXPECT_EQ(parameters("3b"), 4387529216);
  EXPECT_EQ(parameters("7b"), 7811891712);
}

}  // namespace
}  // namespace penstock::runtime
