#include "tests/emulated_cuda/gpu_check_list.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tests/support/comm/nccl_devices.h"
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

/// Returns the line of tools/gpu/checks for each test of the backend, by the test's name.
std::map<std::string, std::string> listed() {
  std::ifstream list(penstock::test::source("tools/gpu/checks"));
  std::map<std::string, std::string> texts;
  for (std::string line; std::getline(list, line);)
    if (line.starts_with("Cuda")) texts[line.substr(0, line.find(' '))] = line;
  return texts;
}

/// "; needs 4 devices" where the test has noted that number.
std::string need_of(const ::testing::TestResult& result) {
  for (int i = 0; i < result.test_property_count(); ++i)
    if (result.GetTestProperty(i).key() == std::string(penstock::test::kDevicesNeeded))
      return std::string("; needs ") + result.GetTestProperty(i).value() + " devices";
  return "";
}

class DevicesInTheList final : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const auto line = listed_.find(std::string(test.test_suite_name()) + "." + test.name());
    if (line == listed_.end()) return;
    const std::string need = need_of(*test.result());
    const auto said = line->second.find("; needs ");
    EXPECT_EQ(said == std::string::npos ? "" : line->second.substr(said), need)
        << "in tools/gpu/checks: " << line->second;
  }

  std::map<std::string, std::string> listed_ = listed();
};

TEST(GpuCheckList, HasEveryTestOfTheBackend) {
  Names names;
  for (const auto& [name, text] : listed()) names.insert(name);
  EXPECT_EQ(without(tests_of_cuda(), names), Names()) << "add these to tools/gpu/checks";
  EXPECT_EQ(without(names, tests_of_cuda()), Names()) << "tools/gpu/checks has tests that are not";
}

}  // namespace

::testing::TestEventListener* devices_in_the_list() { return new DevicesInTheList; }

}  // namespace emulated_cuda
