#include "configs/flatten.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "configs/load.h"
#include "configs/schema.h"
#include "configs/write.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "tests/support/tree/sources.h"

namespace penstock::configs {
namespace {

Config unusual() {
  Config config = default_config(layers::model_families());
  config.text.alphabet = "'\"\\ab";
  config.data.train = {{"a \"b\"\\c\n\td.jsonl"}};
  config.data.speeds = {0.9, 4.0 / 3};
  config.optimizer.epsilon = 1e-17;
  config.model.family.as<layers::DeepSpeech2Options>().dropout = 0.1;
  config.trainer.seed = 0x8000000000000001;
  config.trainer.validate_every = -1;
  config.trainer.resume = true;
  return config;
}

TEST(Flatten, ComesBackToTheBit) {
  const FlatConfig flat = flatten(unusual());
  EXPECT_EQ(flat.at("trainer.seed"), "9223372036854775809");
  EXPECT_EQ(flat.at("trainer.validate_every"), "-1");
  EXPECT_EQ(unflatten(flat, "checkpoint", layers::model_families()), unusual());
}

TEST(Flatten, ManifestsComeBack) {
  Config config = default_config(layers::model_families());
  config.data.train = {{"a, b.jsonl", 0.3}, {"[c].jsonl"}};
  config.data.temperature = 3.3;
  EXPECT_EQ(unflatten(flatten(config), "checkpoint", layers::model_families()), config);
  const auto read = parse_config(recipe_text(config, std::vector<std::string_view>{"data"}), "text",
                                 layers::model_families());
  EXPECT_EQ(read.data, config.data);
}

TEST(Flatten, MissingKeysKeepTheirDefaults) {
  const Config narrow = unflatten({{"model.hidden", "7"}}, "checkpoint", layers::model_families());
  EXPECT_EQ(narrow.model.family.as<layers::DeepSpeech2Options>().hidden, 7);
  EXPECT_EQ(unflatten({}, "checkpoint", layers::model_families()),
            default_config(layers::model_families()));
}

TEST(Flatten, NamesEveryFault) {
  try {
    unflatten({{"model.hiden", "7"}, {"trainer.steps", "x"}}, "manifest.json",
              layers::model_families());
    FAIL() << "accepted";
  } catch (const ConfigError& e) {
    EXPECT_STREQ(e.what(),
                 "manifest.json: the configuration can't be used:\n  unknown key model.hiden\n"
                 "  trainer.steps = x, but it takes a whole number of at least 1");
  }
}

TEST(Flatten, DifferencesNameKeysInOrder) {
  const Config before = default_config(layers::model_families());
  Config after = before;
  after.trainer.steps = 5;
  after.model.family.as<layers::DeepSpeech2Options>().hidden = 9;
  EXPECT_TRUE(differences(before, before).empty());
  EXPECT_EQ(differences(before, after),
            (std::vector<Difference>{{"model.hidden", "256", "9", OnResume::fixed},
                                     {"trainer.steps", "1000", "5", OnResume::free}}));
}

TEST(Write, DocumentsWhatTheSchemaHolds) {
  std::ifstream in(test::source("docs/configuration.md"));
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_TRUE(page.str().ends_with(config_reference(layers::model_families())))
      << "docs/configuration.md no longer ends with what `penstock --keys` prints:\n"
      << config_reference(layers::model_families());
}

}  // namespace
}  // namespace penstock::configs
