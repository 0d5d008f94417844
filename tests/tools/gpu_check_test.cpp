// docs/gpu-status.md has a row for every check that tools/gpu_check --list names, and no other.

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock {
namespace {

std::set<std::string> listed() {
  const auto outcome = test::run_program({test::source("tools/gpu_check"), "--list"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::set<std::string> names;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(names.insert(line.substr(0, line.find(' '))).second) << "twice: " << line;
  return names;
}

/// From rows "| what | `name` | device, date, figure |".
std::set<std::string> documented() {
  const std::string text = test::read_file(test::source("docs/gpu-status.md"));
  const std::regex row(R"(\n\|[^|\n]*\| `([^`]*)` \|[^|\n]*\S[^|\n]*\|)");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), row), end; found != end; ++found)
    names.insert((*found)[1]);
  return names;
}

TEST(GpuCheck, ListsWhatTheStatusTells) {
  EXPECT_GT(listed().size(), 100u);
  EXPECT_EQ(listed(), documented());
}

TEST(GpuCheck, SaysThatThereIsNoGpu) {
  if (std::filesystem::exists("/dev/nvidia0")) GTEST_SKIP() << "there is a GPU here";
  const auto outcome = test::run_program({test::source("tools/gpu_check")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("no NVIDIA GPU here"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock
