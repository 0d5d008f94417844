#include "configs/include.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "configs/named_keys.h"
#include "layers/models/families.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

/// Recipes of a folder, of which recipe.toml is loaded.
class IncludeTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    test::write_file(folder_.path() / name, text);
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  Config loaded(const std::vector<std::string>& overrides = {}) const {
    return load_config(in("recipe.toml"), layers::model_families(), overrides);
  }
  /// The only fault of recipe.toml, in which the folder is left out.
  std::string fault(const std::vector<std::string>& overrides = {}) const {
    std::string text = test::message_of<ConfigError>([&] { (void)loaded(overrides); });
    const std::string before = "the configuration can't be used:\n  ";
    EXPECT_EQ(text.substr(0, before.size()), before);
    text.erase(0, before.size());
    for (std::size_t at; (at = text.find(in(""))) != std::string::npos;)
      text.erase(at, in("").size());
    return text;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(IncludeTest, KeysMergeOneByOne) {
  write("base.toml", "[trainer]\nsteps = 5\nkeep = 2\n[optimizer]\nbeta1 = 0.5\n");
  write("recipe.toml", "include = 'base.toml'\n[trainer]\nsteps = 7\n");
  const Config config = loaded();
  EXPECT_EQ(config.trainer.steps, 7);
  EXPECT_EQ(config.trainer.keep, 2);
  EXPECT_EQ(config.optimizer.beta1, 0.5);
}

TEST_F(IncludeTest, ListsAreReplaced) {
  write("base.toml", "[data]\nspeeds = [0.9, 1, 1.1]\ntrain = ['a.jsonl', 'b.jsonl']\n");
  write("recipe.toml",
        "include = 'base.toml'\n[data]\nspeeds = [1]\ntrain = [{manifest = 'c.jsonl', weight = "
        "2}]\n");
  EXPECT_EQ(loaded().data.speeds, std::vector<double>{1});
  EXPECT_EQ(loaded().data.train, (std::vector<WeightedManifest>{{"c.jsonl", 2}}));
}

// The order is the list's, then the recipe, then the command line.
TEST_F(IncludeTest, LaterOnesOverrideEarlierOnes) {
  write("a.toml", "[trainer]\nsteps = 1\nkeep = 1\nlanes = 1\nseed = 11\n");
  write("b.toml", "[trainer]\nkeep = 2\nlanes = 2\nseed = 12\n");
  write("recipe.toml", "include = ['a.toml', 'b.toml']\n[trainer]\nlanes = 3\nseed = 13\n");
  const TrainerConfig trainer = loaded({"trainer.seed=14"}).trainer;
  EXPECT_EQ(trainer.steps, 1);
  EXPECT_EQ(trainer.keep, 2);
  EXPECT_EQ(trainer.lanes, 3);
  EXPECT_EQ(trainer.seed, 14u);
}

TEST_F(IncludeTest, PathsStartFromTheIncludingFolder) {
  write("parts/a.toml", "include = '../shared/b.toml'\n");
  write("shared/b.toml", "[trainer]\nsteps = 3\n");
  write("recipe.toml", "include = 'parts/a.toml'\n");
  EXPECT_EQ(loaded().trainer.steps, 3);
  write("recipe.toml", "include = '" + in("shared/b.toml") + "'\n");
  EXPECT_EQ(loaded().trainer.steps, 3);
}

TEST_F(IncludeTest, OneRecipeMayComeByTwoWays) {
  write("base.toml", "[trainer]\nsteps = 3\nkeep = 7\n");
  write("a.toml", "include = 'base.toml'\n[trainer]\nsteps = 4\n");
  write("b.toml", "include = 'base.toml'\n");
  write("recipe.toml", "include = ['a.toml', 'b.toml']\n");
  EXPECT_EQ(loaded().trainer.steps, 3);
  EXPECT_EQ(loaded().trainer.keep, 7);
}

TEST_F(IncludeTest, ModelsOfIncludedRecipesAreTheirBase) {
  write("base.toml", "[model]\nbase = 'ds2-tiny'\nhidden = 12\n");
  write("recipe.toml", "include = 'base.toml'\n[model]\nlayers = 1\n");
  const FlatConfig flat = flatten(loaded());
  EXPECT_EQ(flat.at("model.base"), "ds2-tiny");
  EXPECT_EQ(flat.at("model.hidden"), "12");
  EXPECT_EQ(flat.at("model.layers"), "1");
}

// The planner asks which keys are named, and notes tell of old names, wherever they stand.
TEST_F(IncludeTest, NamesOfIncludedKeysAreKnown) {
  write("base.toml", "[schedule]\nwarmup = 5\n");
  write("recipe.toml", "include = 'base.toml'\n[trainer]\nsteps = 3\n");
  EXPECT_EQ(named_keys(in("recipe.toml")),
            (std::set<std::string>{"lr_schedule.warmup", "trainer.steps"}));
  EXPECT_EQ(
      renaming_notes(in("recipe.toml")),
      std::vector<std::string>{in("base.toml") + ":2: schedule.warmup is now lr_schedule.warmup"});
}

TEST_F(IncludeTest, RecipesInBetweenAreListed) {
  write("b.toml", "");
  write("a.toml", "include = 'b.toml'\n");
  write("recipe.toml", "include = 'a.toml'\n");
  EXPECT_EQ(included_recipes(in("recipe.toml")),
            (std::vector<std::filesystem::path>{in("a.toml"), in("b.toml")}));
}

TEST_F(IncludeTest, FaultsNameTheirOwnFile) {
  write("base.toml", "[trainer]\n\nstepz = 3\n");
  write("recipe.toml", "include = 'base.toml'\n");
  EXPECT_EQ(fault(), "base.toml:3: unknown key trainer.stepz; did you mean trainer.steps?");
  write("base.toml", "[trainer\n");
  EXPECT_EQ(fault().substr(0, 22), "base.toml:1: not TOML:");
  write("base.toml", "[lr_schedule]\nkind = 'cosine'\n");
  EXPECT_EQ(fault().substr(0, 12), "base.toml:2:") << "a contradiction";
}

TEST_F(IncludeTest, MissingOnesAreNamed) {
  write("parts/a.toml", "\ninclude = 'b.toml'\n");
  write("recipe.toml", "include = 'parts/a.toml'\n");
  EXPECT_EQ(fault(),
            "parts/a.toml:2: include names b.toml, but there is no file parts/b.toml; its path "
            "starts from the folder of parts/a.toml: recipe.toml > parts/a.toml > parts/b.toml");
}

TEST_F(IncludeTest, CirclesAreNamed) {
  write("a.toml", "include = 'b.toml'\n");
  write("b.toml", "include = 'recipe.toml'\n");
  write("recipe.toml", "include = 'a.toml'\n");
  EXPECT_EQ(fault(),
            "b.toml:1: include names recipe.toml, but it leads back to itself: leave one out of: "
            "recipe.toml > a.toml > b.toml > recipe.toml");
  write("recipe.toml", "include = './recipe.toml'\n");
  EXPECT_EQ(fault(),
            "recipe.toml:1: include names ./recipe.toml, but it leads back to itself: leave one "
            "out of: recipe.toml > ./recipe.toml");
}

TEST_F(IncludeTest, DepthHasABound) {
  write("recipe.toml", "include = '1.toml'\n");
  for (int i = 1; i <= 12; ++i)
    write(std::to_string(i) + ".toml", "include = '" + std::to_string(i + 1) + ".toml'\n");
  EXPECT_EQ(fault(),
            "9.toml:1: include names 10.toml, but includes go no deeper than 10 recipes: join some "
            "of: recipe.toml > 1.toml > 2.toml > 3.toml > 4.toml > 5.toml > 6.toml > 7.toml > "
            "8.toml > 9.toml > 10.toml");
  write("9.toml", "[trainer]\nsteps = 9\n");
  EXPECT_EQ(loaded().trainer.steps, 9);
}

// Four levels of ten would be ten thousand.
TEST_F(IncludeTest, NumberHasABound) {
  for (int i = 1; i <= 3; ++i) {
    std::string list;
    for (int k = 0; k < 10; ++k) list += "'" + std::to_string(i + 1) + ".toml',";
    write(std::to_string(i) + ".toml", "include = [" + list + "]\n");
  }
  write("4.toml", "");
  write("recipe.toml", "include = '1.toml'\n");
  EXPECT_NE(fault().find("a recipe includes no more than 100"), std::string::npos);
  EXPECT_EQ(included_recipes(in("recipe.toml")).size(), kMostIncludes);
}

TEST_F(IncludeTest, OnlyRecipesOfThisMachineAreRead) {
  write("recipe.toml", "include = 'https://host/base.toml'\n");
  EXPECT_EQ(fault(),
            "recipe.toml:1: include names https://host/base.toml, but recipes are included from "
            "this machine alone: download it");
  write("secret", "password");
  write("recipe.toml", "include = 'secret'\n");
  EXPECT_EQ(fault(), "recipe.toml:1: include names secret, but a recipe's name ends in .toml");
  std::filesystem::create_directory(in("folder.toml"));
  write("recipe.toml", "include = 'folder.toml'\n");
  EXPECT_EQ(fault(), "recipe.toml:1: include names folder.toml, but folder.toml is no file");
  std::filesystem::create_symlink("/dev/zero", in("zero.toml"));
  write("recipe.toml", "include = 'zero.toml'\n");
  EXPECT_EQ(fault(), "recipe.toml:1: include names zero.toml, but zero.toml is no file");
}

TEST_F(IncludeTest, SizeHasABound) {
  std::string text = "[trainer]\nsteps = 3\n";
  write("base.toml", text + std::string(kLargestInclude - text.size(), '\n'));
  write("recipe.toml", "include = 'base.toml'\n");
  EXPECT_EQ(loaded().trainer.steps, 3);
  write("base.toml", text + std::string(kLargestInclude - text.size() + 1, '\n'));
  EXPECT_EQ(fault(),
            "recipe.toml:1: include names base.toml, but base.toml can't be read, or has more than "
            "1048576 bytes");
}

TEST_F(IncludeTest, OtherValuesAreRefused) {
  const std::string takes =
      ", but it takes a path, or a list of paths without commas, such as [\"base.toml\", "
      "\"data.toml\"]";
  write("recipe.toml", "include = 3\n");
  EXPECT_EQ(fault(), "recipe.toml:1: include = 3" + takes);
  write("recipe.toml", "include = ['a,b.toml']\n");
  EXPECT_EQ(fault(), "recipe.toml:1: include = [ 'a,b.toml' ]" + takes);
}

TEST_F(IncludeTest, OtherPlacesAreRefused) {
  write("recipe.toml", "[trainer]\ninclude = 'base.toml'\n");
  EXPECT_EQ(fault(),
            "recipe.toml:2: unknown key trainer.include; include stands before the first section");
  write("recipe.toml", "");
  EXPECT_EQ(fault({"include=base.toml"}),
            "command line: unknown key include: include stands in recipes alone");
  write("model.toml", "include = 'base.toml'\n");
  EXPECT_EQ(fault({"model.base=" + in("model.toml")}),
            "model.toml:1: include is not allowed in a model's file, which holds [model], "
            "[decoder], [features] and [text]");
}

}  // namespace
}  // namespace penstock::configs
