#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "configs/write.h"
#include "tests/support/process.h"

namespace penstock {
namespace {

test::Outcome penstock(std::vector<std::string> words) {
  words.insert(words.begin(), PENSTOCK_BINARY);
  return test::run_program(words);
}

TEST(Command, AnswersVersionHelpAndKeys) {
  EXPECT_EQ(penstock({"--version"}).out.substr(0, 9), "penstock ");
  EXPECT_EQ(penstock({"--help"}).code, 0);
  const auto keys = penstock({"--keys"});
  EXPECT_EQ(keys.code, 0);
  EXPECT_EQ(keys.out, config_reference());
}

TEST(Command, EverySubcommandShowsExamples) {
  const std::string help = penstock({"--help"}).out;
  int commands = 0;
  for (const char* name : {"plan", "train", "evaluate", "transcribe", "data", "info", "bench"}) {
    if (help.find("\n  " + std::string(name) + " ") == std::string::npos) continue;
    ++commands;
    const auto page = penstock({name, "--help"});
    EXPECT_EQ(page.code, 0) << name;
    EXPECT_NE(page.out.find("Examples:\n"), std::string::npos) << page.out;
    EXPECT_NE(page.out.find("\n  penstock " + std::string(name)), std::string::npos) << page.out;
  }
  EXPECT_GT(commands, 0) << help;
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

}  // namespace
}  // namespace penstock
