// tools/gpu_check lists every test of the CUDA backend that runs here.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/support/tree/sources.h"

namespace emulated_cuda {
namespace {

using Names = std::set<std::string>;

Names tests_of_cuda() {
  const auto& program = *::testing::UnitTest::GetInstance();
  Names names;
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const auto& suite = *program.GetTestSuite(s);
    if (!std::string(suite.name()).starts_with("Cuda")) continue;
    for (int t = 0; t < suite.total_test_count(); ++t)
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
  return names;
}

Names without(const Names& some, const Names& others) {
  Names left;
  std::ranges::set_difference(some, others, std::inserter(left, left.end()));
  return left;
}

TEST(GpuCheckList, HasEveryTestOfTheBackend) {
  std::ifstream list(penstock::test::source("tools/gpu/checks"));
  Names names;
  for (std::string line; std::getline(list, line);)
    if (line.starts_with("Cuda")) names.insert(line.substr(0, line.find(' ')));
  EXPECT_EQ(without(tests_of_cuda(), names), Names())
      << "add these to tools/gpu/checks, then run tools/gpu/status_page --write";
  EXPECT_EQ(without(names, tests_of_cuda()), Names()) << "tools/gpu/checks has tests that are not";
}

}  // namespace
}  // namespace emulated_cuda
