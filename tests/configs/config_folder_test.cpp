#include "configs/config_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::configs {
namespace {

namespace fs = std::filesystem;

/// The version that the top CMakeLists.txt says.
std::string declared_version() {
  const std::string text = test::read_file(test::source("CMakeLists.txt"));
  std::smatch found;
  std::regex_search(text, found, std::regex("penstock VERSION ([0-9.]+)"));
  return found[1];
}

TEST(ConfigFolder, LiesBesideAnInstalledProgram) {
  const test::TemporaryFolder prefix;
  const fs::path folder = prefix.path() / "share/penstock" / declared_version() / "configs";
  fs::create_directories(folder / "models");
  EXPECT_EQ(installed_config_folder(prefix.path() / "bin/penstock"), folder);
}

TEST(ConfigFolder, OtherVersionsAreNotTaken) {
  const test::TemporaryFolder prefix;
  fs::create_directories(prefix.path() / "share/penstock/0.0.1/configs/models");
  EXPECT_EQ(installed_config_folder(prefix.path() / "bin/penstock"), "");
}

TEST(ConfigFolder, ProgramsOfNoInstallationHaveNone) {
  const test::TemporaryFolder build;
  EXPECT_EQ(installed_config_folder(build.path() / "penstock"), "");
  EXPECT_EQ(installed_config_folder(""), "");
}

TEST(ConfigFolder, NamesAreSortedAndWithoutEnding) {
  const std::vector<std::string> names = names_in_config_folder("devices");
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::count(names, "h100"), 1);
  EXPECT_EQ(names_in_config_folder("no such folder"), std::vector<std::string>());
}

}  // namespace
}  // namespace penstock::configs
