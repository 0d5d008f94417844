#include "configs/value.h"

#include <gtest/gtest.h>
#include <toml++/toml.h>

namespace penstock::configs {
namespace {

TEST(TomlText, IsReadAsTheSameText) {
  for (const std::string text : {"", "a b.jsonl", "a \"b\"\\c\n\t\x01\x7f[{,", "größe ✓"})
    EXPECT_EQ(*toml::parse("v = " + toml_string(text))["v"].value<std::string>(), text) << text;
}

}  // namespace
}  // namespace penstock::configs
