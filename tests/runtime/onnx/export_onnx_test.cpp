#include "runtime/onnx/export_onnx.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/support/runtime/onnx_model.h"
#include "tests/support/runtime/tone_checkpoint.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// Replaces the numbers behind a shard's header. Its first 8 bytes are the header's length.
void fill_with_nans(const fs::path& shard) {
  std::uint64_t header = 0;
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const std::uint64_t begin = sizeof header + header;
  file.seekp(static_cast<std::streamoff>(begin));
  file << std::string(fs::file_size(shard) - begin, '\xff');
}

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

/// Weights are read while the file is written.
TEST(ExportOnnx, LeavesNoFolderAfterAFailure) {
  const test::ToneCheckpoint checkpoint;
  int shards = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(checkpoint.in("output")))
    if (entry.path().extension() == ".safetensors") {
      fill_with_nans(entry.path());
      ++shards;
    }
  ASSERT_GE(shards, 1);
  EXPECT_THROW((void)export_onnx(checkpoint.in("output"), checkpoint.in("served")),
               CheckpointError);
  EXPECT_FALSE(fs::exists(checkpoint.in("served")));
  EXPECT_FALSE(fs::exists(checkpoint.in("served.partial")));
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
