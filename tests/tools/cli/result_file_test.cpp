#include "tools/cli/result_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class ResultFileTest : public testing::Test {
 protected:
  std::string in(const char* name) const { return (folder_.path() / name).string(); }
  ResultFile open(bool resume, const std::string& made_by = "checkpoint 1") const {
    return {{"--output", path_, resume}, made_by};
  }
  std::string refusal(bool resume, const std::string& made_by = "checkpoint 1") const {
    return test::message_of<ConfigError>([&] { open(resume, made_by); });
  }

  test::TemporaryFolder folder_;
  std::string path_ = in("out.jsonl");
};

TEST_F(ResultFileTest, GoesOnBehindTheLastAppend) {
  {
    ResultFile file = open(true);  // also where there is none
    EXPECT_EQ(file.state(), "");
    EXPECT_FALSE(std::filesystem::exists(path_));
    file.append("one\ntwo\n", "2 lines");
    file.append("three\n", "3 \"lines\"");
  }
  const std::string whole = test::read_file(path_);
  for (const std::string torn : {"", "fo", "four\nfi"}) {
    test::write_file(path_, whole + torn);
    ResultFile file = open(true);
    EXPECT_EQ(file.state(), "3 \"lines\"");
    EXPECT_EQ(test::read_file(path_), "one\ntwo\nthree\n");
  }
  open(true).append("four\n", "4");
  EXPECT_EQ(test::read_file(path_), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(open(true).state(), "4");
}

TEST_F(ResultFileTest, ReplacesNothingUnasked) {
  open(false).append("one\n", "1");
  EXPECT_NE(refusal(false).find("--output: " + path_ + " is there already: go on with it by "),
            std::string::npos)
      << refusal(false);
  const std::string other = refusal(true, "checkpoint 2");
  EXPECT_NE(other.find("it is of\n  checkpoint 1\nand this run of\n  checkpoint 2"),
            std::string::npos)
      << other;
  EXPECT_EQ(test::read_file(path_), "one\n");
}

TEST_F(ResultFileTest, NeedsWhatItKnewOfTheFile) {
  test::write_file(path_, "somebody's\n");
  EXPECT_NE(refusal(true).find("out.jsonl.progress is missing or damaged"), std::string::npos);
  test::write_file(progress_file(path_), "{\"bytes\": 3}");
  EXPECT_NE(refusal(true).find("is missing or damaged"), std::string::npos);
  EXPECT_EQ(test::read_file(path_), "somebody's\n");
  std::filesystem::remove(path_);
  open(true).append("one\ntwo\n", "2");
  test::write_file(path_, "one\n");
  EXPECT_NE(refusal(true).find("has been cut: it holds 4 bytes, but held 8"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_EQ(open(true).state(), "");  // it begins anew
  std::filesystem::create_directory(path_);
  EXPECT_NE(refusal(true).find("is no file"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
