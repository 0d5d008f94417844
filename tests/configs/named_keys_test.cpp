#include "configs/named_keys.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace penstock::configs
