#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/safetensors_cases.h"
#include "tests/support/system/process.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

test::Outcome info(const fs::path& path, bool json = false) {
  std::vector<std::string> words = {PENSTOCK_BINARY, "info", path.string()};
  if (json) words.push_back("--json");
  return test::run_program(words);
}

/// A safetensors file with one tensor of three numbers and one without shape.
fs::path small_file() {
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]},"s":{"dtype":"I64","shape":[],"data_offsets":[12,20]}})";
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path path = fs::path(testing::TempDir()) / (test + "_info_test.weights");
  std::ofstream out(path, std::ios::binary);
  out << static_cast<char>(header.size()) << std::string(7, '\0') << header
      << std::string(20, '\0');
  return path;
}

TEST(Info, ListsAFileOfAnyName) {
  const auto outcome = info(small_file());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("w       F32    1×3"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("s       I64    scalar"), std::string::npos) << outcome.out;
}

TEST(Info, PrintsOneJsonObject) {
  const auto report = nlohmann::json::parse(info(small_file(), true).out);
  ASSERT_EQ(report["tensors"].size(), 2u);
  const auto& tensor = report["tensors"][0];
  EXPECT_EQ(tensor["name"], "w");
  EXPECT_EQ(tensor["dtype"], "F32");
  EXPECT_EQ(tensor["shape"], nlohmann::json({1, 3}));
  EXPECT_EQ(tensor["file"], small_file().string());
  const auto begin = tensor["bytes"][0].get<std::uint64_t>();
  EXPECT_EQ(tensor["bytes"][1], begin + 12);
  EXPECT_EQ(begin + 20, fs::file_size(small_file()));
}

TEST(Info, IsPrintedOnceUnderMpirun) {
  const auto outcome =
      test::run_program({PENSTOCK_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-np", "2",
                         PENSTOCK_BINARY, "info", small_file().string(), "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, info(small_file(), true).out);
}

TEST(Info, EndsWith4AndTheFilesName) {
  const fs::path path = small_file();
  fs::resize_file(path, fs::file_size(path) - 1);
  const auto outcome = info(path, true);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("info_test.weights"), std::string::npos) << outcome.err;
  EXPECT_EQ(info("/nowhere").code, 4);
}

TEST(Info, AcceptsOrRejectsEachCaseAsRequired) {
  const auto cases = test::safetensors_cases();
  ASSERT_EQ(cases.size(), 56u);
  for (const auto& [file, what, required] : cases) {
    ASSERT_TRUE(fs::exists(file)) << file;
    const auto outcome = info(file);
    EXPECT_TRUE(outcome.code == 0 || outcome.code == 4) << file << ": " << outcome.err;
    if (required != "either") {
      EXPECT_EQ(outcome.code, required == "accept" ? 0 : 4) << what << ": " << outcome.err;
    }
    EXPECT_EQ(outcome.code == 4, !outcome.err.empty()) << what << ": " << outcome.err;
  }
}

}  // namespace
}  // namespace penstock::tools
