#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

const std::string kOfCharacters = "wav2vec2_for_ctc", kOfPieces = "parakeet_for_ctc";

/// Folders with a fault each, through the program. An error leaves nothing where it would write.
class BadExchange : public testing::Test {
 protected:
  std::filesystem::path theirs(const std::string& golden) const {
    auto folder = output_.path() / "theirs";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(test::source("tests/golden/" + golden), folder);
    return folder;
  }

  void expect_refused(const std::string& said) const {
    const std::string out = (output_.path() / "out" / "checkpoint").string();
    const test::Outcome done = test::run_program(
        {PENSTOCK_BINARY, "import", (output_.path() / "theirs").string(), "-o", out});
    EXPECT_EQ(done.code, 4) << said << done.err;
    EXPECT_NE(done.err.find(said), std::string::npos) << said << " is not in: " << done.err;
    EXPECT_FALSE(std::filesystem::exists(output_.path() / "out"));
  }

  void expect_refused(const std::string& golden, const std::string& file, const std::string& from,
                      const std::string& to, const std::string& said) const {
    test::change_text(theirs(golden) / file, from, to);
    expect_refused(said);
  }

  test::TemporaryFolder output_;
};

TEST_F(BadExchange, FilesThatAreNotThere) {
  for (const auto& [golden, labels] :
       {std::pair(kOfCharacters, "vocab.json"), std::pair(kOfPieces, "tokenizer.json")})
    for (const char* file :
         {"config.json", "model.safetensors", "preprocessor_config.json", labels}) {
      std::filesystem::remove(theirs(golden) / file);
      expect_refused(file);
    }
}

TEST_F(BadExchange, TensorsOfOtherShapesAndTypes) {
  for (const auto& [golden, bias] :
       {std::pair(kOfCharacters, "lm_head.bias"), std::pair(kOfPieces, "ctc_head.bias")}) {
    const auto change = [&, tensor = bias](const auto& to) {
      test::change_tensors(theirs(golden) / "model.safetensors",
                           [&](test::FileTensors& tensors) { to(tensors.at(tensor)); });
    };
    change([](test::FileTensor& tensor) { tensor.shape.insert(tensor.shape.begin(), 1); });
    expect_refused(std::string(bias) + " is [1, ");
    change([](test::FileTensor& tensor) { tensor.dtype = layers::DType::i32; });
    expect_refused(std::string(bias) + " is of I32, expected F32, F16 or BF16");
    const auto weights = theirs(golden) / "model.safetensors";
    std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 4);
    expect_refused("model.safetensors");
  }
}

TEST_F(BadExchange, ModelsThatPenstockHasNot) {
  const std::vector<std::array<std::string, 4>> cases = {
      {kOfCharacters, R"("model_type": "wav2vec2")", R"("model_type": "speech_to_text")",
       "speech_to_text"},
      {kOfPieces, R"("model_type": "parakeet_ctc")", R"("model_type": "speech_to_text")",
       "speech_to_text"},
      {kOfCharacters, R"("feat_extract_norm": "layer")", R"("feat_extract_norm": "batch")",
       "model.frontend_norm = batch"},
      {kOfCharacters, R"("add_adapter": false)", R"("add_adapter": true)", "add_adapter is true"},
      {kOfCharacters, R"("adapter_attn_dim": null)", R"("adapter_attn_dim": 16)",
       "it lacks wav2vec2.encoder.layers.0.adapter_layer.norm.weight"},
      {kOfCharacters, R"("num_attention_heads": 3)", R"("num_attention_heads": 5)",
       "num_attention_heads: 5 heads of attention do not divide a width of 12"},
      {kOfPieces, R"("num_attention_heads": 3)", R"("num_attention_heads": 5)",
       "num_attention_heads: 5 heads of attention do not divide a width of 12"},
      {kOfPieces, R"("layerdrop": 0.1)", R"("layerdrop": 1.0)", "model.layer_drop = 1.0"}};
  for (const auto& [golden, from, to, said] : cases)
    expect_refused(golden, "config.json", from, to, said);
}

TEST_F(BadExchange, SettingsOfAnotherKind) {
  const std::vector<std::array<std::string, 4>> cases = {
      {kOfCharacters, R"("hidden_size": 12)", R"("hidden_size": "x")",
       R"(config.json: hidden_size is "x", but it must be a whole number above 0)"},
      {kOfCharacters, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 2.5)",
       "num_hidden_layers is 2.5, but it must be a whole number above 0"},
      {kOfCharacters, R"("conv_stride": [)", R"("conv_stride": ["a",)",
       "but it must be a list of whole numbers above 0"},
      {kOfCharacters, R"("conv_dim": [)", R"("conv_dim": [5,)",
       "but there are convolutions for each of [10,3,3,2]"},
      {kOfPieces, R"("hidden_size": 12)", R"("hidden_size": {"a": 1})",
       "encoder_config.hidden_size is an object, but it must be as 1024"},
      {kOfPieces, R"("encoder_config": {)", R"("encoder_config": null, "other": {)",
       "encoder_config is null, but it must be an object"}};
  for (const auto& [golden, from, to, said] : cases)
    expect_refused(golden, "config.json", from, to, said);
  expect_refused(kOfPieces, "preprocessor_config.json", R"("n_fft": )", R"("n_fft": 0, "was": )",
                 "n_fft is 0, but it must be a whole number above 0");
}

TEST_F(BadExchange, TokenizersThatAreNotTheHeads) {
  expect_refused(kOfCharacters, "config.json", R"("vocab_size": 9)", R"("vocab_size": 12)",
                 "row 9 stands for none");
  expect_refused(kOfPieces, "config.json", R"("vocab_size": 8)", R"("vocab_size": 7)",
                 "pad_token_id is 7, but the head has 7 rows");
  expect_refused(kOfCharacters, "config.json", R"("pad_token_id": 2)", R"("pad_token_id": 4)",
                 "pad_token is '<pad>'");
  expect_refused(kOfPieces, "config.json", R"("pad_token_id": 7)", R"("pad_token_id": 8)",
                 "pad_token_id is 8, but the head has 8 rows");
  theirs(kOfPieces);
  test::write_file(output_.path() / "theirs" / "tokenizer.model", "no model");
  expect_refused("tokenizer.model");
}

// Its four convolutions need more for a frame.
TEST_F(BadExchange, UtterancesShorterThanTheFrontEndsField) {
  const auto at = [&](const char* name) { return (output_.path() / name).string(); };
  ASSERT_EQ(test::run_program({PENSTOCK_BINARY, "import",
                               test::source("tests/golden/wav2vec2_for_ctc").string(), "-o",
                               at("checkpoint")})
                .code,
            0);
  ASSERT_TRUE(test::write_sound(at("short.wav"), test::make_sound(20)));
  test::write_file(at("short.jsonl"),
                   "{\"audio_filepath\": \"" + at("short.wav") + "\", \"text\": \"A\"}\n");
  const test::Outcome heard =
      test::run_program({PENSTOCK_BINARY, "transcribe", at("checkpoint"), at("short.wav"),
                         "--logits", at("logits.safetensors")});
  EXPECT_EQ(heard.code, 3);
  EXPECT_NE(heard.err.find("do not fit the model"), std::string::npos) << heard.err;
  EXPECT_FALSE(std::filesystem::exists(at("logits.safetensors")));
  const test::Outcome judged =
      test::run_program({PENSTOCK_BINARY, "evaluate", at("checkpoint"), at("short.jsonl")});
  EXPECT_EQ(judged.code, 3);
  EXPECT_NE(judged.err.find("do not fit the model"), std::string::npos) << judged.err;
}

}  // namespace
}  // namespace penstock::tools
