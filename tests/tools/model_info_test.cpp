#include "tools/model_info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/system/process.h"

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

// What a Transformer keeps is linear in the duration.
TEST(ModelInfo, KeepsNothingSquare) {
  const auto kept = [](const char* seconds) {
    return model({"transformer-base", "--seconds", seconds})["kept_bytes"].get<double>();
  };
  EXPECT_NEAR(kept("60") / kept("15"), 4, 0.01);
}

TEST(ModelInfo, TellsModelsFromFiles) {
  EXPECT_TRUE(names_model("ds2-tiny"));
  EXPECT_TRUE(names_model("somewhere/mine.toml"));
  EXPECT_FALSE(names_model("outputs/quickstart"));
  EXPECT_FALSE(names_model("model.safetensors"));
}

TEST(ModelInfo, EndsWith2ForAFileThatIsNone) {
  const auto outcome = test::run_program({PENSTOCK_BINARY, "info", "/nowhere.toml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("/nowhere.toml"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
