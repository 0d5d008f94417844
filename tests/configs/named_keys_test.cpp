#include "configs/named_keys.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "configs/schema.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

TEST(NamedKeys, AreThoseOfTheFileAndTheOverrides) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "recipe.toml";
  test::write_file(file, "[data]\nmicro_batches = 4  # the default\n[model]\nhidden = 7\n");
  const std::vector<std::string> overrides{"trainer.lanes=2", "model.hidden=9"};
  EXPECT_EQ(named_keys(file, overrides),
            (std::set<std::string>{"data.micro_batches", "model.hidden", "trainer.lanes"}));
  EXPECT_EQ(named_keys({}, overrides), (std::set<std::string>{"trainer.lanes", "model.hidden"}));
  EXPECT_TRUE(named_keys(folder.path() / "none.toml").empty());
}

TEST(RenamedKeys, EarlierNamesAreReadInRecipesAndOverrides) {
  const std::vector<std::string> overrides = {"schedule.floor=1e-5"};
  const Config config = parse_config("[schedule]\nkind = 'cosine'\nwarmup = 5\nhorizon = 90\n",
                                     "recipe.toml", {}, overrides);
  EXPECT_EQ(config.lr_schedule.kind, "cosine");
  EXPECT_EQ(config.lr_schedule.warmup, 5);
  EXPECT_EQ(config.lr_schedule.total_steps, 90);
  EXPECT_EQ(config.lr_schedule.min_lr, 1e-5);
}

TEST(RenamedKeys, EveryEarlierNameHasAKeyOfToday) {
  Config config;
  for (const char* leaf : {"kind", "warmup", "horizon", "floor", "power", "decay", "decay_steps"}) {
    const std::string now = current_name(std::string("schedule.") + leaf);
    EXPECT_TRUE(find_key(config, now)) << leaf << ": " << now;
  }
  for (const Key& key : keys(config)) EXPECT_EQ(current_name(key.name), key.name);
}

TEST(RenamedKeys, EachGetsALineWithItsNewName) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "recipe.toml";
  test::write_file(file, "[trainer]\nsteps = 3\n[schedule]\nfloor = 0.001\n");
  const std::vector<std::string> overrides = {"schedule.horizon=7", "lr_schedule.power=2"};
  const std::vector<std::string> notes = {
      file.string() + ":4: schedule.floor is now lr_schedule.min_lr",
      "command line: schedule.horizon is now lr_schedule.total_steps"};
  EXPECT_EQ(renaming_notes(file, overrides), notes);
  EXPECT_TRUE(named_keys(file, overrides).contains("lr_schedule.min_lr"));
  EXPECT_FALSE(named_keys(file, overrides).contains("schedule.floor"));
}

TEST(RenamedKeys, ACheckpointsEarlierKeysAreRead) {
  FlatConfig flat = flatten(Config());
  for (const char* key : {"min_lr", "total_steps"}) flat.erase(std::string("lr_schedule.") + key);
  flat["schedule.floor"] = "0.25";
  flat["schedule.horizon"] = "77";
  const Config config = unflatten(flat, "the checkpoint", {});
  EXPECT_EQ(config.lr_schedule.min_lr, 0.25);
  EXPECT_EQ(config.lr_schedule.total_steps, 77);
  const FlatConfig both = {{"schedule.floor", "0.25"}, {"trainer.steps", "3"}};
  EXPECT_EQ(
      renaming_notes(both, "checkpoint-000000004"),
      std::vector<std::string>{"checkpoint-000000004: schedule.floor is now lr_schedule.min_lr"});
}

std::string fault_of_names(const std::string& recipe, const std::vector<std::string>& overrides) {
  return test::message_of<ConfigError>([&] { parse_config(recipe, "recipe.toml", {}, overrides); });
}

TEST(RenamedKeys, OneRecipeWithBothNamesIsAFault) {
  EXPECT_EQ(
      fault_of_names("[lr_schedule]\nmin_lr = 0.1\n[schedule]\nkind = 'cosine'\nfloor = 0.1\n", {}),
      "the configuration can't be used:\n  recipe.toml:5: schedule.floor and "
      "lr_schedule.min_lr (recipe.toml:2) are one key: keep only lr_schedule.min_lr");
  EXPECT_EQ(fault_of_names("", {"schedule.power=2", "lr_schedule.power=3"}),
            "the configuration can't be used:\n  command line: lr_schedule.power and "
            "schedule.power (command line) are one key: keep only lr_schedule.power");
}

TEST(RenamedKeys, AnOverrideByAnotherNameStillHolds) {
  const std::vector<std::string> today = {"lr_schedule.min_lr=0.5"}, before = {"schedule.floor=2"},
                                 twice = {"schedule.floor=3", "schedule.floor=4"};
  EXPECT_EQ(parse_config("[schedule]\nfloor = 1", "", {}, today).lr_schedule.min_lr, 0.5);
  EXPECT_EQ(parse_config("[lr_schedule]\nmin_lr = 1", "", {}, before).lr_schedule.min_lr, 2);
  EXPECT_EQ(parse_config("", "", {}, twice).lr_schedule.min_lr, 4);
}

}  // namespace
}  // namespace penstock::configs
