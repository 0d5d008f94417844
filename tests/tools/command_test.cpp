#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "configs/write.h"
#include "layers/models/families.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

test::Outcome penstock(std::vector<std::string> words) {
  words.insert(words.begin(), PENSTOCK_BINARY);
  return test::run_program(words);
}

/// The version that the top CMakeLists.txt says.
std::string declared_version() {
  const std::string text = test::read_file(test::source("CMakeLists.txt"));
  std::smatch found;
  return std::regex_search(text, found, std::regex("VERSION (0[.][0-9]+[.][0-9]+)"))
             ? found[1].str()
             : "none";
}

TEST(Command, SaysTheVersionOfTheBuild) {
  EXPECT_EQ(penstock({"--version"}).out, "penstock " + declared_version() + "\n");
}

TEST(Command, AnswersHelpAndKeys) {
  EXPECT_EQ(penstock({"--help"}).code, 0);
  const auto keys = penstock({"--keys"});
  EXPECT_EQ(keys.code, 0);
  EXPECT_EQ(keys.out, configs::config_reference(layers::model_families()));
}

/// The first words of the lines after "Subcommands:".
std::vector<std::string> subcommands() {
  const std::string help = penstock({"--help"}).out;
  const std::size_t heading = help.find("Subcommands:\n");
  if (heading == std::string::npos) return {};
  std::istringstream lines(help.substr(heading));
  std::vector<std::string> names;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("  ");)
    if (line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

TEST(Command, HasSubcommandsWithExamples) {
  EXPECT_EQ(subcommands(), (std::vector<std::string>{
                               "plan",       "train",  "run",   "watch",  "report",     "evaluate",
                               "transcribe", "align",  "tune",  "sweep",  "import",     "export",
                               "average",    "data",   "info",  "verify", "bench",      "schedule",
                               "profile",    "search", "trace", "probe",  "completion", "manual"}));
  for (const std::string& name : subcommands()) {
    const auto page = penstock({name, "--help"});
    EXPECT_EQ(page.code, 0) << name;
    EXPECT_NE(page.out.find("Examples:\n"), std::string::npos) << page.out;
    EXPECT_NE(page.out.find("\n  penstock " + name), std::string::npos) << page.out;
  }
}

TEST(Command, EndsWith2OnWrongUsage) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"dance"}, {"info"}, {"info", "--loud", "x"}, {"--loud"}}) {
    const auto outcome = penstock(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.substr(0, 10), "penstock: ");
  }
}

TEST(Command, NamesAnUnknownCommand) {
  const auto outcome = penstock({"trian", "recipe.toml"});
  EXPECT_EQ(outcome.err,
            "penstock: unknown command trian; did you mean train?\n"
            "penstock --help lists the commands\n");
}

}  // namespace
}  // namespace penstock::tools
