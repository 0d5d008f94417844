// Tests what tools/gpu_check prints on a machine without a GPU.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "layers/backend.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

TEST(GpuCheck, ListsEveryCheckOnce) {
  const auto outcome = test::run_program({test::source("tools/gpu_check"), "--list"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::set<std::string> names;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(names.insert(line.substr(0, line.find(' '))).second) << "twice: " << line;
  EXPECT_GT(names.size(), 100u);
}

TEST(GpuCheck, SaysThatThereIsNoGpu) {
  if (layers::cuda_device_count() > 0) GTEST_SKIP() << "there is a GPU here";
  const auto outcome = test::run_program({test::source("tools/gpu_check")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("no NVIDIA GPU here"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
