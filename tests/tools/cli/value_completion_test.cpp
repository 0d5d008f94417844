#include "tools/cli/value_completion.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "configs/config_folder.h"
#include "configs/schema.h"
#include "layers/models/families.h"

namespace penstock::tools {
namespace {

Completions values(const std::string& kinds, const std::string& begun) {
  CLI::App app("", "program");
  std::string word;
  const CLI::Option* option = app.add_option("word", word, "")->type_name(kinds);
  Completions found;
  add_values(*option, begun, found);
  return found;
}

std::vector<std::string> words(const std::string& kinds, const std::string& begun) {
  std::vector<std::string> all;
  for (const Candidate& each : values(kinds, begun).candidates) all.push_back(each.word);
  return all;
}

bool offers(const std::string& kinds, const std::string& begun, const std::string& word) {
  const std::vector<std::string> all = words(kinds, begun);
  return std::ranges::count(all, word) == 1;
}

TEST(ValueCompletion, NamesComeFromTheConfigurations) {
  EXPECT_EQ(words("MODEL", ""), configs::model_names());
  EXPECT_EQ(words("CLUSTER|FILE", ""), configs::names_in_config_folder("clusters"));
  EXPECT_TRUE(offers("DEVICE", "h1", "h100"));
  EXPECT_TRUE(offers("SCHEDULE", "zb", "zb-v"));
  EXPECT_TRUE(offers("SCHEDULE", "f", "found"));
}

TEST(ValueCompletion, PathsFollowTheKind) {
  EXPECT_TRUE(values("MODEL|FILE", "").files);
  EXPECT_TRUE(values("TEXT", "").files);
  EXPECT_FALSE(values("MODEL", "").files);
  EXPECT_TRUE(values("FOLDER|URL", "").folders);
  EXPECT_FALSE(values("FOLDER|URL", "").files);
  EXPECT_FALSE(values("INT", "").files);
}

TEST(ValueCompletion, SectionsComeBeforeTheirKeys) {
  const std::vector<std::string> all = words("FILE|KEY=VALUE", "tr");
  EXPECT_EQ(all, std::vector<std::string>{"trainer."});
  EXPECT_TRUE(values("FILE|KEY=VALUE", "tr").files);
  EXPECT_TRUE(offers("FILE|KEY=VALUE", "trainer.st", "trainer.steps="));
}

// The reference of penstock --keys lists the same keys.
TEST(ValueCompletion, EveryKeyOfEveryFamilyIsOffered) {
  std::set<std::string> offered;
  for (const std::string& section : words("KEY=VALUE", ""))
    for (const std::string& key : words("KEY=VALUE", section)) offered.insert(key);
  std::set<std::string> known;
  configs::Config config = configs::default_config(layers::model_families());
  for (const Key& key : configs::keys(config, layers::model_families()))
    known.insert(std::string(key.name) + "=");
  for (layers::ModelFamily family : layers::model_families())
    for (const Key& key : family.keys()) known.insert(std::string(key.name) + "=");
  EXPECT_EQ(offered, known);
}

TEST(ValueCompletion, ValuesFollowTheKey) {
  EXPECT_EQ(words("KEY=VALUE", "pipeline.schedule=zb-h"),
            (std::vector<std::string>{"pipeline.schedule=zb-h1", "pipeline.schedule=zb-h2"}));
  EXPECT_EQ(words("KEY=VALUE", "trainer.resume=t"),
            std::vector<std::string>{"trainer.resume=true"});
  EXPECT_TRUE(offers("KEY=VALUE", "model.base=ds2", "model.base=ds2-small"));
  EXPECT_TRUE(offers("KEY=VALUE", "model.kind=", "model.kind=conformer"));
  EXPECT_TRUE(values("KEY=VALUE", "data.train=").files);
  EXPECT_FALSE(values("FILE|KEY=VALUE", "trainer.steps=").files);
  EXPECT_TRUE(words("KEY=VALUE", "none.such=").empty());
}

TEST(ValueCompletion, SomeArgumentsTakeKeysOfASection) {
  EXPECT_EQ(words("text.KEY=VALUE", ""), std::vector<std::string>{"text."});
  EXPECT_TRUE(words("text.KEY=VALUE", "trainer.").empty());
}

}  // namespace
}  // namespace penstock::tools
