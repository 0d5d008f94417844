#include <fmt/format.h>
#include <fmt/ranges.h>
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

const std::string kQwen3Asr = "qwen3_asr_for_conditional_generation";
constexpr int kAudioRow = 264, kQwen3AsrRows = 269;

class Qwen3AsrFolder : public testing::Test {
 protected:
  static std::filesystem::path golden() { return test::source("tests/golden/" + kQwen3Asr); }

  Checkpoint import(const ImportChoices& choices = {}) {
    std::filesystem::remove_all(checkpoint_);
    report_ = import_model(golden(), checkpoint_, choices);
    return open_checkpoint(checkpoint_);
  }

  /// Fails unless ids around the frames, and losses, are those of transformers, whose names begin
  /// with `kind`.
  static void expect_like_transformers(const Checkpoint& checkpoint, const std::string& kind) {
    const test::Golden values(kQwen3Asr + "/logits");
    const std::vector<std::int64_t> known = values.integers(kind + "known");
    std::vector<std::int64_t> ids = values.integers(kind + "ids");
    for (std::int64_t& id : ids) id += id < kAudioRow ? 1 : 0;
    const auto& config = checkpoint.state().config;
    const auto listed = [&](std::int64_t first, std::int64_t count) {
      return fmt::format("[{}]", fmt::join(ids.begin() + first, ids.begin() + first + count, ", "));
    };
    EXPECT_EQ(config.at("decoder.prefix"), listed(0, known[0]));
    EXPECT_EQ(config.at("decoder.prompt"), listed(known[0], known[1] - 1));
    EXPECT_EQ(config.at("decoder.bos"), fmt::format("{}", ids.back()));

    test::EvaluatedModel model(checkpoint, values, kQwen3AsrRows);
    std::vector<std::int64_t> rows = values.integers("output_lengths");
    for (std::size_t u = 0; u < rows.size(); ++u)
      rows[u] += known[0] + known[1] + values.integers("label_counts")[u];
    EXPECT_EQ(model.frames().lengths, rows);
    EXPECT_LE(test::relative_error(model.losses(), values[kind + "losses"]), 1e-4);
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
TEST_F(Qwen3AsrFolder, HasTheLossesOfTransformers) { expect_like_transformers(import(), ""); }

TEST_F(Qwen3AsrFolder, HasTheLossesOfALanguage) {
  expect_like_transformers(import({.language = "EN"}), "english_");
  EXPECT_EQ(report_.language, "English");
  EXPECT_FALSE(report_.no_prompt);
}

// Names of languages have tokens of other numbers in the small tokenizer.
TEST_F(Qwen3AsrFolder, NeedsPromptsOfOneLength) {
  (void)import({.language = "English", .languages = {"en"}});
  EXPECT_EQ(report_.languages, std::vector<std::string>{"en"});
  expect_fault("config.json", "", "",
               "has prompts of other numbers of tokens than the usual one of",
               {.language = "English", .languages = {"en", "Cantonese"}});
}

TEST_F(Qwen3AsrFolder, TakesTheSettings) {
  const Checkpoint checkpoint = import();
  EXPECT_TRUE(report_.no_prompt);
  EXPECT_EQ(report_.such_as, "English");
  EXPECT_EQ(report_.labels, kQwen3AsrRows);
  const auto& config = checkpoint.state().config;
  for (const auto& [key, value] :
       std::vector<std::array<const char*, 2>>{{"model.kind", "qwen3_asr"},
                                               {"model.decoder", "lm"},
                                               {"model.classes", "269"},
                                               {"model.channels", "4"},
                                               {"model.chunk", "100"},
                                               {"model.window", "200"},
                                               {"model.width", "12"},
                                               {"decoder.width", "8"},
                                               {"decoder.heads", "4"},
                                               {"decoder.kv_heads", "2"},
                                               {"decoder.head_channels", "6"},
                                               {"decoder.qk_norm", "true"},
                                               {"decoder.tied", "true"},
                                               {"decoder.rotary_base", "500"},
                                               {"decoder.eos", "262"},
                                               {"features.kind", "whisper-0.5s"},
                                               {"features.mels", "9"},
                                               {"text.kind", "bpe"}})
    EXPECT_EQ(config.at(key), value) << key;
}

TEST_F(Qwen3AsrFolder, RefusesWhatContradictsItself) {
  const std::vector<std::array<std::string, 3>> cases = {
      {R"("output_dim": 8)", R"("output_dim": 16)",
       "audio_config.output_dim is 16, but penstock's models have 8. The projector makes frames of "
       "the language model's width"},
      {R"("n_window": 50)", R"("n_window": 40)", "audio_config.n_window is 40"},
      {R"("n_window_infer": 200)", R"("n_window_infer": 250)",
       "config.json: audio_config.n_window_infer: a window of 250 frames does not consist of whole "
       "chunks of 100"},
      {R"("num_mel_bins": 9)", R"("num_mel_bins": 10)",
       "feature_size is 9, but the model of config.json takes 10 mel channels"},
      {R"("model_type": "qwen3",)", R"("model_type": "qwen2",)",
       R"(text_config.model_type is "qwen2")"},
      {R"("use_sliding_window": false)", R"("use_sliding_window": true)",
       "text_config.use_sliding_window is true"},
      {R"("vocab_size": 269)", R"("vocab_size": 270)",
       "model.language_model.embed_tokens.weight is [269, 8], expected [270, 8]"},
      {R"("vocab_size": 269)", R"("vocab_size": 264)",
       "the row of the place of the frames is 264, but the head has 264 rows"},
      {R"("audio_token_id": 264)", R"("audio_token_id": 65)",
       "in the row of the place of the frames, 65"},
      {R"("tie_word_embeddings": true,
  "timestamp)",
       R"("tie_word_embeddings": false,
  "timestamp)",
       "lm_head.weight"},
      {"    261,", "    260,", "which ends a turn of the chat, has row 261"},
      {R"("architectures")", R"("thinker_config": {"a": 1}, "architectures")",
       "take the model that was made for transformers, whose name ends in -hf"}};
  for (const auto& [from, to, said] : cases) expect_fault("config.json", from, to, said);
  expect_fault("processor_config.json", R"("min_length": 8000)", R"("min_length": 0)",
               "min_length is 0, but penstock's models have 8000");
}

TEST_F(Qwen3AsrFolder, NamesTheSettingsThatAreMissing) {
  const std::string head = R"("head_dim": 6,)", layers = R"("num_hidden_layers": 2,)";
  expect_fault("config.json", head, "", "config.json lacks text_config.head_dim, so 128 was taken");
  expect_fault("config.json", layers, "",
               "config.json lacks text_config.num_hidden_layers, so 28 was taken");
  expect_fault("config.json", R"("text_config")", R"("other_config")",
               "config.json lacks text_config.hidden_size, so 2048 was taken");
  EXPECT_EQ(fault("config.json", head, "").find("text_config.hidden_size"), std::string::npos);
}

TEST_F(Qwen3AsrFolder, RefusesAnotherChat) {
  expect_fault("tokenizer.json", "<|audio_start|>", "<|other|>",
               "tokenizer.json: has no added token '<|audio_start|>', which the model's chat has");
  expect_fault("chat_template.jinja", "<|audio_end|>", "",
               "chat_template.jinja: has no '<|audio_end|>'");
  expect_fault("tokenizer.json", "<asr_text>", "<other>",
               "has no added token '<asr_text>', which comes after a language", {.language = "en"});
  expect_fault(
      "config.json", "", "",
      "is of a model that knows no language 'Klingon': choose with --language among Arabic "
      "Cantonese",
      {.language = "Klingon"});
}

// transformers counts the same in Qwen3ASRForConditionalGeneration.
TEST(Qwen3AsrModels, HaveThePublishedParameters) {
  const auto parameters = [](const char* name) {
    const std::vector<std::string> base{fmt::format("model.base=qwen3-asr-{}", name)};
    const configs::Config config = configs::load_config("", layers::model_families(), base);
    std::int64_t count = 0;
    for (const auto& [tensor, shape] : model_tensors(config.model, config.model.classes))
      count += layers::element_count(shape);
    return count;
  };
  EXPECT_EQ(parameters("0.6b"), 782426112);
  EXPECT_EQ(parameters("1.7b"), 2038052480);
}

}  // namespace
}  // namespace penstock::runtime
