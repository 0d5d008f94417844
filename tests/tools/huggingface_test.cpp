#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

test::Outcome run_penstock(std::vector<std::string> words) {
  words.insert(words.begin(), PENSTOCK_BINARY);
  return test::run_program(words);
}

TEST(HuggingFace, ImportsExportsAndSaysSo) {
  const test::TemporaryFolder output;
  const auto folder = test::source("tests/golden/wav2vec2_for_ctc").string();
  const std::string checkpoint = (output.path() / "model").string();
  const std::string exported = (output.path() / "exported").string();
  const test::Outcome imported = run_penstock({"import", folder, "-o", checkpoint});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_NE(imported.out.find("2 tokens are no single character, so that transcripts show a "
                              "stand-in: <unk> CH"),
            std::string::npos)
      << imported.out;
  EXPECT_EQ(run_penstock({"info", checkpoint}).code, 0);
  const test::Outcome back = run_penstock({"export", checkpoint, "-o", exported, "--json"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_NE(back.out.find("\"weight_files\":1"), std::string::npos) << back.out;
}

TEST(HuggingFace, ExportsTheWeightsOfAnyModel) {
  const test::TemporaryFolder output;
  const auto old = test::source("tests/golden/checkpoint_0.1").string();
  const std::string weights = (output.path() / "weights").string();
  const test::Outcome exported = run_penstock(
      {"export", "--weights", old, "-o", weights, "--precision", "bf16", "--file-gb", "1e-5"});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(exported.out.find(" in bf16 are now " + weights + ", in "), std::string::npos)
      << exported.out;
  const test::Outcome info = run_penstock({"info", weights});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_NE(info.out.find("BF16"), std::string::npos) << info.out;
  EXPECT_EQ(info.out.find("F32"), std::string::npos) << info.out;
  EXPECT_EQ(info.out.find("optimizer."), std::string::npos) << info.out;
}

TEST(HuggingFace, TakesAdaptersBothWays) {
  const test::TemporaryFolder output;
  const auto base = test::source("tests/golden/wav2vec2_for_ctc").string();
  const auto adapter = test::source("tests/golden/wav2vec2_adapter").string();
  const auto in = [&](const char* name) { return (output.path() / name).string(); };
  const test::Outcome imported =
      run_penstock({"import", base, "--adapter", adapter, "-o", in("model")});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_NE(imported.out.find("4 layers have an adapter of rank 5"), std::string::npos)
      << imported.out;
  const test::Outcome recipe = run_penstock({"info", in("model"), "--recipe"});
  EXPECT_NE(recipe.out.find("[lora]\n"), std::string::npos) << recipe.out;
  const test::Outcome back =
      run_penstock({"export", "--adapter", in("model"), "-o", in("adapter"), "--base", "mine"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_NE(back.out.find("it adapts 6 modules with rank 3"), std::string::npos) << back.out;
  EXPECT_EQ(run_penstock({"import", base, "--merge", "-o", in("none")}).code, 2);
  EXPECT_EQ(run_penstock({"export", in("model"), "--base", "mine", "-o", in("none")}).code, 2);
  EXPECT_EQ(run_penstock({"export", "--adapter", "--weights", in("model"), "-o", in("none")}).code,
            2);
  EXPECT_EQ(run_penstock({"import", base, "--adapter", base, "-o", in("none")}).code, 4);
}

TEST(HuggingFace, StartsMaskedFramesAnewIfMissing) {
  const test::TemporaryFolder output;
  const auto folder = output.path() / "theirs";
  std::filesystem::copy(test::source("tests/golden/wav2vec2_for_ctc"), folder);
  test::change_tensors(folder / "model.safetensors", [](test::FileTensors& tensors) {
    tensors.erase("wav2vec2.masked_spec_embed");
  });
  const test::Outcome imported =
      run_penstock({"import", folder.string(), "-o", (output.path() / "model").string()});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_NE(imported.out.find("lacks wav2vec2.masked_spec_embed, which starts anew"),
            std::string::npos)
      << imported.out;
}

TEST(HuggingFace, EndsWithItsExitCodes) {
  const test::TemporaryFolder output;
  const std::string nowhere = (output.path() / "nowhere").string();
  EXPECT_EQ(run_penstock({"import", nowhere, "-o", nowhere + "2"}).code, 4);
  EXPECT_EQ(run_penstock({"import", nowhere}).code, 2);
  EXPECT_EQ(run_penstock({"export", nowhere, "-o", nowhere + "2"}).code, 4);
  const auto old = test::source("tests/golden/checkpoint_0.1").string();
  EXPECT_EQ(run_penstock({"export", old, "-o", nowhere}).code, 2);
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
}

bool has_transformers() {
  return test::run_program({"python3", "-c", "import transformers, torch"}).code == 0;
}

constexpr const char* kLacking =
    "python3 has no modules transformers and torch (pip install transformers torch)";

/// Pieces of tokenizer.json, and tokenizer.json of pieces: piece_round_trip.py says how.
TEST(PythonTransformers, TakesPiecesBothWays) {
  if (!has_transformers()) GTEST_SKIP() << kLacking;
  const test::TemporaryFolder output;
  const test::Outcome done = test::run_program(
      {"python3", test::source("tests/tools/piece_round_trip.py").string(), PENSTOCK_BINARY,
       test::source("tests/golden/piece_tokenizers").string(), output.path().string()});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

/// Random small models, there and back: round_trip.py says how.
TEST(PythonTransformers, LoadsWhatPenstockExports) {
  if (!has_transformers()) GTEST_SKIP() << kLacking;
  const test::TemporaryFolder output;
  const auto script = test::source("tests/tools/round_trip.py").string();
  for (const char* kind :
       {"wav2vec2", "wav2vec2_base", "wav2vec2_letters", "hubert", "omniasr", "pretrained",
        "parakeet", "parakeet_rnnt", "parakeet_tdt", "anew_rnnt", "anew_tdt"}) {
    const test::Outcome done = test::run_program(
        {"python3", script, PENSTOCK_BINARY, kind, output.path().string(), "0", "1"});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }
}

/// Random small language models, there and back: language_model_round_trip.py says how.
TEST(PythonTransformers, LoadsLanguageModelsThatPenstockExports) {
  if (!has_transformers()) GTEST_SKIP() << kLacking;
  const test::TemporaryFolder output;
  const test::Outcome done = test::run_program(
      {"python3", test::source("tests/tools/language_model_round_trip.py").string(),
       PENSTOCK_BINARY, output.path().string(), "0", "1"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

/// Random small recognisers with attention decoders: attention_round_trip.py says how.
TEST(PythonTransformers, LoadsAttentionDecodersThatPenstockExports) {
  if (!has_transformers()) GTEST_SKIP() << kLacking;
  const test::TemporaryFolder output;
  const auto script = test::source("tests/tools/attention_round_trip.py").string();
  for (const char* kind : {"whisper", "whisper_plain", "canary", "cohere", "anew_whisper",
                           "anew_canary", "anew_cohere"}) {
    const test::Outcome done = test::run_program(
        {"python3", script, PENSTOCK_BINARY, kind, output.path().string(), "0", "1"});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }
}

/// Random small Qwen3-ASR, there and back: qwen3_asr_round_trip.py says how.
TEST(PythonTransformers, LoadsQwen3AsrThatPenstockExports) {
  if (!has_transformers()) GTEST_SKIP() << kLacking;
  const test::TemporaryFolder output;
  const test::Outcome done =
      test::run_program({"python3", test::source("tests/tools/qwen3_asr_round_trip.py").string(),
                         PENSTOCK_BINARY, output.path().string(), "0", "1"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

bool has_peft() {
  return test::run_program({"python3", "-c", "import peft, transformers, torch"}).code == 0;
}

/// Random adapters, there and back, and trained ones: adapter_round_trip.py says how.
TEST(PythonPeft, LoadsWhatPenstockExports) {
  if (!has_peft())
    GTEST_SKIP() << "python3 has no modules peft, transformers and torch (pip install peft "
                    "transformers torch)";
  const test::TemporaryFolder output;
  const test::Outcome done = test::run_program(
      {"python3", test::source("tests/tools/adapter_round_trip.py").string(), PENSTOCK_BINARY,
       "wav2vec2,hubert,omniasr,omniasr_llm,parakeet,w2v_bert,refusals", output.path().string(),
       "0"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

}  // namespace
}  // namespace penstock::tools
