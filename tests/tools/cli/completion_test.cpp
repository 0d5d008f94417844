#include "tools/cli/completion.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace penstock::tools {
namespace {

using Words = std::vector<std::string>;

/// A program with the commands `train` and `data make`.
class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    CLI::App* train = program_.add_subcommand("train", "Train a recipe");
    train->add_option("recipe", word_, "")->type_name("FILE");
    train->add_option("-o,--output", word_, "A folder")->type_name("FOLDER");
    train->add_option("--kind", word_, "")->check(CLI::IsMember({"unigram", "bpe"}));
    train->add_flag("--json");
    CLI::App* data = program_.add_subcommand("data", "Manifests");
    data->add_subcommand("make", "Write one")->add_option("--seed", number_, "");
  }

  Completions completed(const Words& words) const { return completions(program_, words); }

  Words words_for(const Words& words) const {
    Words found;
    for (const Candidate& each : completed(words).candidates) found.push_back(each.word);
    return found;
  }

  std::string word_;
  int number_ = 0;
  CLI::App program_{"", "program"};
};

TEST_F(CompletionTest, OffersCommandsWithTheirMeaning) {
  EXPECT_EQ(words_for({""}), (Words{"train", "data"}));
  EXPECT_EQ(words_for({"t"}), Words{"train"});
  EXPECT_EQ(completed({"t"}).candidates[0].meaning, "Train a recipe");
  EXPECT_EQ(words_for({"data", ""}), Words{"make"});
  EXPECT_EQ(words_for({"none", ""}), Words());
}

TEST_F(CompletionTest, OffersOptionsOfTheCommand) {
  EXPECT_EQ(words_for({"train", "--"}), (Words{"--help", "--output", "--kind", "--json"}));
  EXPECT_EQ(words_for({"data", "make", "--s"}), Words{"--seed"});
  EXPECT_EQ(words_for({"train", "--json", "recipe.toml", "--k"}), Words{"--kind"});
}

TEST_F(CompletionTest, OffersValuesOfAnOption) {
  EXPECT_EQ(words_for({"train", "--kind", ""}), (Words{"unigram", "bpe"}));
  EXPECT_EQ(words_for({"train", "--kind=b"}), Words{"--kind=bpe"});
  EXPECT_TRUE(completed({"train", "-o", ""}).folders);
  EXPECT_TRUE(completed({"train", "--output=a"}).folders);
  EXPECT_EQ(words_for({"data", "make", "--seed", ""}), Words());
}

// The value before is not taken for the recipe, and no second recipe is offered.
TEST_F(CompletionTest, CountsArguments) {
  EXPECT_TRUE(completed({"train", "--kind", "bpe", ""}).files);
  EXPECT_TRUE(completed({"train", "--json", ""}).files);
  EXPECT_FALSE(completed({"train", "a.toml", ""}).files);
}

TEST_F(CompletionTest, TakesAllAfterDashesAsArguments) {
  EXPECT_EQ(words_for({"train", "--", "--k"}), Words());
  EXPECT_TRUE(completed({"train", "--", "--k"}).files);
}

TEST_F(CompletionTest, NothingIsKnownOfAnUnknownOption) {
  EXPECT_EQ(words_for({"train", "--none=x"}), Words());
  EXPECT_EQ(words_for({}), Words());
}

TEST(CompletionLines, EndWithTheKindOfPaths) {
  EXPECT_EQ(completion_lines({.candidates = {{"a", "x y"}, {"b=", ""}}, .files = true}),
            "a\tx y\nb=\t\n:files\n");
  EXPECT_EQ(completion_lines({.folders = true}), ":folders\n");
}

TEST(CompletionScript, KnowsThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_NE(completion_script(shell).find("__complete"), std::string_view::npos) << shell;
  EXPECT_THROW((void)completion_script("csh"), ConfigError);
}

}  // namespace
}  // namespace penstock::tools
