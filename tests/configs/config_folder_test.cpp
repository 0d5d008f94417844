#include "configs/config_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/error.h"
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

TEST(ConfigFolder, InstalledProgramsNameWhatIsMissing) {
  const test::TemporaryFolder prefix;
  // Files of another version are not taken.
  fs::create_directories(prefix.path() / "share/penstock/0.0.1/configs/models");
  const fs::path program = prefix.path() / "bin/penstock";
  const fs::path missing = prefix.path() / "share/penstock" / declared_version() / "configs/models";
  try {
    (void)installed_config_folder(program);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()),
              program.string() + " is installed without its configurations: there is no folder " +
                  missing.string() +
                  "; install penstock again, move its whole prefix, or set PENSTOCK_CONFIGS to the "
                  "folder configs of its sources");
  }
}

TEST(ConfigFolder, ProgramsOutsideBinTakeNoPlantedFolder) {
  const test::TemporaryFolder shared;
  fs::create_directories(shared.path() / "share/penstock" / declared_version() / "configs/models");
  EXPECT_EQ(installed_config_folder(shared.path() / "build/penstock"), "");
  EXPECT_EQ(installed_config_folder(shared.path() / "bin2/penstock"), "");
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
