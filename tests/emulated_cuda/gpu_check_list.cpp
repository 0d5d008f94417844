// tools/gpu_check lists every test of the CUDA backend that runs here.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "tests/support/tree/sources.h"

namespace emulated_cuda {
namespace {

std::set<std::string> tests_of_cuda() {
  const auto& program = *::testing::UnitTest::GetInstance();
  std::set<std::string> names;
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const auto& suite = *program.GetTestSuite(s);
    if (!std::string(suite.name()).starts_with("Cuda")) continue;
    for (int t = 0; t < suite.total_test_count(); ++t)
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
  return names;
}

TEST(GpuCheckList, HasEveryTestOfTheBackend) {
  std::ifstream list(penstock::test::source("tools/gpu/checks"));
  std::set<std::string> names;
  for (std::string line; std::getline(list, line);)
    if (line.starts_with("Cuda")) names.insert(line.substr(0, line.find(' ')));
  EXPECT_EQ(tests_of_cuda(), names);
}

}  // namespace
}  // namespace emulated_cuda
