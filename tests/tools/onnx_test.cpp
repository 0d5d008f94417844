#include <gtest/gtest.h>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

bool has_modules(const std::string& modules) {
  return test::run_program({"python3", "-c", "import safetensors, " + modules}).code == 0;
}

test::Outcome run_script(const std::string& script, const std::filesystem::path& folder) {
  return test::run_program({"python3", test::source("tests/tools/" + script).string(),
                            PENSTOCK_BINARY, folder.string()});
}

TEST(Onnx, RefusesOptionsThatItDoesNotHave) {
  const test::TemporaryFolder output;
  const std::string none = (output.path() / "none").string();
  const auto old = test::source("tests/golden/checkpoint_0.1").string();
  const auto code = [&](std::vector<std::string> options) {
    std::vector<std::string> words = {PENSTOCK_BINARY, "export", old, "-o", none};
    words.insert(words.end(), options.begin(), options.end());
    return test::run_program(words).code;
  };
  EXPECT_EQ(code({"--onnx", "--weights"}), 2);
  EXPECT_EQ(code({"--onnx", "--precision", "bf16"}), 2);
  EXPECT_EQ(code({"--int8"}), 2);
  EXPECT_EQ(code({"--rms", "0.1"}), 2);
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
}

/// Small models of every family: onnx_logits.py says how.
TEST(PythonOnnx, ComputesTheLogitsOfPenstock) {
  if (!has_modules("onnx, onnxruntime"))
    GTEST_SKIP() << "python3 has no modules onnx, onnxruntime and safetensors (pip install …)";
  const test::TemporaryFolder output;
  const test::Outcome done = run_script("onnx_logits.py", output.path());
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

/// Models that know two texts by heart: sherpa_texts.py says how.
TEST(PythonSherpa, RecognisesTheTextsOfPenstock) {
  if (!has_modules("sherpa_onnx"))
    GTEST_SKIP() << "python3 has no modules sherpa_onnx and safetensors (pip install …)";
  const test::TemporaryFolder output;
  const test::Outcome done = run_script("sherpa_texts.py", output.path());
  EXPECT_EQ(done.code, 0) << done.out << done.err;
}

}  // namespace
}  // namespace penstock::tools
