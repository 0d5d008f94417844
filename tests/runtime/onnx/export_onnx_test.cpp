#include "runtime/onnx/export_onnx.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/runtime/onnx_model.h"
#include "tests/support/runtime/tone_checkpoint.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

TEST(ExportOnnx, WritesAModelFromSamplesToLogits) {
  const test::ToneCheckpoint checkpoint;
  const OnnxReport report = export_onnx(checkpoint.in("output"), checkpoint.in("served"));
  EXPECT_EQ(report.labels, 5);
  EXPECT_EQ(report.sample_rate, 8000);
  EXPECT_TRUE(report.level_matters);
  const test::OnnxModel model = test::read_onnx(checkpoint.in("served") + "/model.onnx");
  EXPECT_EQ(model.faults(), std::vector<std::string>{});
  EXPECT_EQ(model.inputs.at("x"), (std::vector<std::string>{"1", "samples"}));
  EXPECT_EQ(model.outputs.at("logits"), (std::vector<std::string>{"1", "frames", "5"}));
  EXPECT_EQ(model.metadata.at("sample_rate"), "8000");
  EXPECT_EQ(test::read_file(checkpoint.in("served") + "/tokens.txt"),
            "<blk> 0\na 1\nb 2\nc 3\nd 4\n");
}

TEST(ExportOnnx, ScalesRecordingsToALevel) {
  const test::ToneCheckpoint checkpoint;
  const OnnxReport report =
      export_onnx(checkpoint.in("output"), checkpoint.in("served"), {.level = 0.05});
  EXPECT_FALSE(report.level_matters);
  const test::OnnxModel model = test::read_onnx(checkpoint.in("served") + "/model.onnx");
  EXPECT_TRUE(model.constants.contains("f64:0.05"));
}

TEST(ExportOnnx, WritesEightBitWeightsToAnotherName) {
  const test::ToneCheckpoint checkpoint;
  const OnnxReport report =
      export_onnx(checkpoint.in("output"), checkpoint.in("served"), {.eight_bits = true});
  EXPECT_EQ(report.file, "model.int8.onnx");
  const test::OnnxModel model = test::read_onnx(checkpoint.in("served") + "/model.int8.onnx");
  EXPECT_EQ(model.faults(), std::vector<std::string>{});
  EXPECT_TRUE(model.constants.contains("output.weight.quantised"));
  EXPECT_FALSE(model.constants.contains("output.weight"));
}

TEST(ExportOnnx, RefusesOtherDecodersAndLeavesNoFolder) {
  const test::ToneCheckpoint checkpoint(
      {"trainer.steps=1", "model.decoder=rnnt", "decoder.width=6", "decoder.joint=6"});
  try {
    export_onnx(checkpoint.in("output"), checkpoint.in("served"));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("written for CTC alone, and this one decodes by rnnt"),
              std::string::npos)
        << error.what();
  }
  EXPECT_FALSE(fs::exists(checkpoint.in("served")));
  EXPECT_FALSE(fs::exists(checkpoint.in("served.partial")));
}

}  // namespace
}  // namespace penstock::runtime
