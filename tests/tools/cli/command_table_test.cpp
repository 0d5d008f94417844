#include "tools/cli/command_table.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace penstock::tools {
namespace {

using Names = std::vector<std::string>;

TEST(CommandTable, GroupsAreNoCommandsButHaveOptions) {
  CLI::App app("", "program");
  app.add_subcommand("train", "");
  app.add_option_group("hosts")->add_flag("--slurm");
  ASSERT_EQ(commands(app).size(), 1U);
  EXPECT_EQ(commands(app)[0]->get_name(), "train");
  Names names;
  for (const CLI::Option* option : listed_options(app)) names.push_back(option->get_name());
  EXPECT_EQ(names, (Names{"--help", "--slurm"}));
}

TEST(CommandTable, HiddenOptionsAreNotListed) {
  CLI::App app("", "program");
  app.set_help_flag();
  app.add_flag("--secret")->group("");
  EXPECT_TRUE(listed_options(app).empty());
}

TEST(CommandTable, KindsAndChoicesComeFromTheType) {
  CLI::App app("", "program");
  std::string word;
  int number = 0;
  const CLI::Option* kinds = app.add_option("--kinds", word, "")->type_name("FILE|MODEL");
  const CLI::Option* choices = app.add_option("--of", word, "")->check(CLI::IsMember({"a", "b"}));
  const CLI::Option* range = app.add_option("--range", number, "")->check(CLI::Range(1, 9));
  EXPECT_EQ(value_kinds(*kinds), (Names{"FILE", "MODEL"}));
  EXPECT_EQ(value_choices(*kinds), Names());
  EXPECT_EQ(value_kinds(*choices), Names{"TEXT"});
  EXPECT_EQ(value_choices(*choices), (Names{"a", "b"}));
  EXPECT_EQ(value_kinds(*range), Names{"INT"});
  EXPECT_EQ(value_choices(*range), Names());
}

TEST(CommandTable, FlagsTakeNoValue) {
  CLI::App app("", "program");
  std::string word;
  EXPECT_FALSE(takes_value(*app.add_flag("--json")));
  EXPECT_TRUE(takes_value(*app.add_option("--output", word, "")));
}

}  // namespace
}  // namespace penstock::tools
