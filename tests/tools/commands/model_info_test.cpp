#include "tools/commands/model_info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

nlohmann::json model(const std::vector<std::string>& words) {
  std::vector<std::string> command = {PENSTOCK_BINARY, "info", "--json"};
  command.insert(command.end(), words.begin(), words.end());
  const auto outcome = test::run_program(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(ModelInfo, AddsUpTheLayers) {
  const nlohmann::json report = model({"conformer-s"});
  EXPECT_EQ(report["parameters"], 8715053);
  std::int64_t parameters = 0, kept = 0;
  for (const auto& layer : report["layers"]) {
    parameters += layer["parameters"].get<std::int64_t>();
    kept += layer["kept_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(report["parameters"], parameters);
  EXPECT_EQ(report["kept_bytes"], kept);
  EXPECT_EQ(report["layers"].front()["name"], "subsampling.conv1");
  EXPECT_EQ(report["layers"].back()["name"], "ctc");
}

TEST(ModelInfo, CountsLabelsAndHalves) {
  const nlohmann::json report = model({"conformer-s"});
  EXPECT_EQ(model({"conformer-s", "--labels", "129"})["parameters"],
            report["parameters"].get<std::int64_t>() + 100 * 145);
  const auto kept = [](const nlohmann::json& of) { return of["kept_bytes"].get<double>(); };
  EXPECT_NEAR(kept(model({"conformer-s", "--precision", "bf16"})) / kept(report), 0.5, 0.05);
}

TEST(ModelInfo, HonoursTheClassesOfTheModel) {
  const test::TemporaryFolder folder;
  const std::string free = folder.path() / "free.toml", kept = folder.path() / "kept.toml";
  test::write_file(free, "[model]\nfeatures = 41\nhidden = 12\n");
  test::write_file(kept, "[model]\nfeatures = 41\nhidden = 12\nclasses = 40\n");
  EXPECT_EQ(model({kept})["parameters"], model({free, "--labels", "40"})["parameters"]);
  EXPECT_EQ(model({kept, "--labels", "9"})["parameters"], model({kept})["parameters"]);
  EXPECT_NE(model({kept})["parameters"], model({free})["parameters"]);
  const auto refused = test::run_program({PENSTOCK_BINARY, "info", kept, "--labels", "41"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("model.classes = 40"), std::string::npos) << refused.err;
}

// transformers' ParakeetForCTC has the same counts at these sizes.
TEST(ModelInfo, CountsFastConformersWithoutAllocatingThem) {
  const auto parameters = [](const char* name, const char* labels) {
    return model({name, "--labels", labels})["parameters"];
  };
  EXPECT_EQ(parameters("fastconformer-m", "129"), 26161793);
  EXPECT_EQ(parameters("fastconformer-l", "1025"), 109287937);
  EXPECT_EQ(parameters("fastconformer-xl", "1025"), 608799745);
  EXPECT_EQ(parameters("fastconformer-xxl", "1025"), 1062540289);
}

// transformers counts the same in ParakeetForRNNT and ParakeetForTDT.
TEST(ModelInfo, CountsParakeetTransducersAsTransformersDoes) {
  EXPECT_EQ(model({"parakeet-rnnt-1.1b", "--labels", "1025"})["parameters"], 1070432769);
  EXPECT_EQ(model({"parakeet-tdt-0.6b", "--labels", "8193"})["parameters"], 625877638);
}

// transformers counts the same in the classes of these names.
TEST(ModelInfo, CountsAttentionDecodersAsTransformersDoes) {
  EXPECT_EQ(model({"canary-1b-v2"})["parameters"], 962155520);
  EXPECT_EQ(model({"cohere-transcribe"})["parameters"], 2065647872);
  EXPECT_EQ(model({"whisper-large-v3"})["parameters"], 1543490560);
  EXPECT_EQ(model({"whisper-large-v3-turbo"})["parameters"], 808878080);
}

// transformers' Wav2Vec2BertForCTC has as many, but for the 1,024 that only mask frames.
TEST(ModelInfo, CountsW2vBertAsTransformersDoes) {
  EXPECT_EQ(model({"w2v-bert-2", "--labels", "32"})["parameters"], 580524896);
}

// The bytes that a Transformer keeps are linear in the duration.
TEST(ModelInfo, KeepsNothingSquare) {
  const auto kept = [](const char* seconds) {
    return model({"transformer-base", "--seconds", seconds})["kept_bytes"].get<double>();
  };
  EXPECT_NEAR(kept("60") / kept("15"), 4, 0.01);
}

// The operations of training: the gradient of the features is none of them.
TEST(ModelInfo, CountsTheOperationsOfTraining) {
  const nlohmann::json report = model({"conformer-s", "--seconds", "0.29", "--batch", "1"});
  const nlohmann::json& first = report["layers"].front();
  EXPECT_EQ(first["backward_flops"], first["forward_flops"]);
  double flops = 0;
  for (const auto& layer : report["layers"])
    flops += layer["forward_flops"].get<double>() + layer["backward_flops"].get<double>();
  EXPECT_NEAR(report["flops_per_audio_second"].get<double>() * 0.29 / flops, 1, 1e-9);
  // 29 frames, although 0.29 · 100 is less in binary numbers.
  EXPECT_NE(report["kept_bytes"],
            model({"conformer-s", "--seconds", "0.28", "--batch", "1"})["kept_bytes"]);
}

TEST(ModelInfo, TellsModelsFromFiles) {
  EXPECT_TRUE(names_model("ds2-tiny"));
  EXPECT_TRUE(names_model("somewhere/mine.toml"));
  EXPECT_FALSE(names_model("outputs/quickstart"));
  EXPECT_FALSE(names_model("model.safetensors"));
}

TEST(ModelInfo, NamesTheKnownModels) {
  const auto outcome = test::run_program({PENSTOCK_BINARY, "info", "conformer-xs"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("conformer-l, conformer-m, conformer-s"), std::string::npos)
      << outcome.err;
}

TEST(ModelInfo, RejectsItsOptionsForWeights) {
  const auto outcome =
      test::run_program({PENSTOCK_BINARY, "info", "some/weights.safetensors", "--labels", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--labels"), std::string::npos) << outcome.err;
}

TEST(ModelInfo, EndsWith2ForAFileThatIsNone) {
  const auto outcome = test::run_program({PENSTOCK_BINARY, "info", "/nowhere.toml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("/nowhere.toml"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
