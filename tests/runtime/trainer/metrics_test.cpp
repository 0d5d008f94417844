#include "runtime/trainer/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/system/file_size_limit.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class Metrics : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::filesystem::path file() const { return folder_ / "metrics.jsonl"; }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> read;
    std::ifstream in(file());
    for (std::string line; std::getline(in, line);) read.push_back(nlohmann::json::parse(line));
    return read;
  }
  static StepReport step(std::int64_t number, double loss) {
    StepReport report;
    report.step = number;
    report.loss = loss;
    return report;
  }

  std::filesystem::path folder_;
};

TEST_F(Metrics, RecordsTheLossToTheLastBit) {
  const double loss = 1.0 / 3;
  MetricsFile(file(), {0}).write(step(1, loss));
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_EQ(std::strtod(lines()[0]["loss_hex"].get<std::string>().c_str(), nullptr), loss);
}

TEST_F(Metrics, ALossThatIsNotFiniteIsNull) {
  StepReport skipped = step(1, -std::nan(""));
  skipped.skipped = true;
  skipped.gradient_norm = HUGE_VAL;
  MetricsFile(file(), {0}).write(skipped);
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_TRUE(lines()[0]["loss"].is_null());
  EXPECT_TRUE(lines()[0]["gradient_norm"].is_null());
  EXPECT_EQ(lines()[0]["loss_hex"], "nan");
  EXPECT_EQ(lines()[0]["skipped"], true);
}

TEST_F(Metrics, ValidationHasNoLossHex) {
  MetricsFile(file(), {0}).write(EvaluationReport{});
  EXPECT_FALSE(lines()[0].contains("loss_hex"));
  EXPECT_TRUE(lines()[0].contains("validation_wer"));
}

TEST_F(Metrics, AResumedRunAppendsBehindItsStep) {
  {
    MetricsFile metrics(file(), {0});
    for (int s = 1; s <= 5; ++s) metrics.write(step(s, s));
  }
  std::ofstream(file(), std::ios::app) << "{\"step\": 6, \"lo";  // cut off
  MetricsFile(file(), {3}).write(step(4, 40));
  ASSERT_EQ(lines().size(), 4u);
  EXPECT_EQ(lines()[2]["loss"], 3);
  EXPECT_EQ(lines()[3]["loss"], 40);
}

TEST_F(Metrics, KnowsAValidationOfItsStep) {
  EvaluationReport validation;
  validation.step = 2;
  {
    MetricsFile metrics(file(), {0});
    for (int s = 1; s <= 3; ++s) metrics.write(step(s, s));
    metrics.write(validation);
  }
  EXPECT_FALSE(MetricsFile(file(), {3}).validated());
  EXPECT_TRUE(MetricsFile(file(), {2}).validated());
  EXPECT_FALSE(MetricsFile(file(), {1}).validated());
}

// A checkpoint that knows of no validation of its step repeats it. The line of an early end goes,
// since the run goes on or writes it again.
TEST_F(Metrics, DropsLinesThatWillBeWrittenAgain) {
  EvaluationReport validation;
  {
    MetricsFile metrics(file(), {0});
    for (const int s : {1, 2}) {
      metrics.write(step(s, s));
      validation.step = s;
      metrics.write(validation);
    }
    metrics.write(EarlyEnd{2, "no better wer"});
  }
  ASSERT_EQ(lines().size(), 5u);
  EXPECT_EQ(lines()[4]["early_stopping"], "no better wer");
  EXPECT_TRUE(MetricsFile(file(), {.last_step = 2}).validated());
  EXPECT_EQ(lines().size(), 4u);
  EXPECT_FALSE(MetricsFile(file(), {.last_step = 2, .last_validation = false}).validated());
  ASSERT_EQ(lines().size(), 3u);
  EXPECT_TRUE(lines()[1].contains("validation_wer"));
}

TEST_F(Metrics, KeepsWhatAFullDiskRefuses) {
  std::vector<std::string> notes;
  MetricsFile metrics(file(), {0}, [&](const std::string& note) { notes.push_back(note); });
  metrics.write(step(1, 1));
  {
    const test::FileSizeLimit full(std::filesystem::file_size(file()) + 17);  // a part of a line
    for (const int s : {2, 3}) metrics.write(step(s, s));
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("metrics.jsonl: can't be written"), std::string::npos) << notes[0];
  }
  for (const int s : {4, 5}) metrics.write(step(s, s));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[1].find("has all lines again"), std::string::npos) << notes[1];
  ASSERT_EQ(lines().size(), 5u);
  for (int s = 1; s <= 5; ++s) EXPECT_EQ(lines()[static_cast<std::size_t>(s - 1)]["step"], s);
}

TEST_F(Metrics, RejectsAFolderThatIsNotThere) {
  EXPECT_THROW(MetricsFile(folder_ / "none" / "metrics.jsonl", {0}), FileError);
}

/// Lines that can't be read must not be lost by writing the file anew.
TEST_F(Metrics, KeepAFileThatCannotBeRead) {
  std::filesystem::create_symlink("/proc/self/mem", file());
  const std::string message =
      test::message_of<FileError>([&] { const MetricsFile metrics(file(), {3}, {}); });
  EXPECT_EQ(message, file().string() + ": can't be read: Input/output error");
  EXPECT_TRUE(std::filesystem::is_symlink(file()));
}

}  // namespace
}  // namespace penstock::runtime
