#include "configs/toml_line.h"

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <string>

namespace penstock::configs {
namespace {

std::string line(const std::string& value) {
  return toml_line(*toml::parse("a = " + value).get("a"));
}

TEST(TomlLine, IsTheValueAsWritten) {
  for (const char* value :
       {"1", "2.0", "-0.25", "'x'", "true", "inf", "nan", "1e+300", "1979-05-27", "[]", "{}",
        "[ 1, 0.1, 1e-300, -0.001, 0.0 ]", "[ [ 0.5 ], [], 'é' ]", "{ a = 1, b = [ 0.1 ] }",
        "[ { manifest = 'a', weight = 0.1 } ]", "{ '= 1' = 2, 'a.b' = { c = 3 } }"})
    EXPECT_EQ(line(value), value);
}

TEST(TomlLine, PutsLongListsAndTablesOnALine) {
  std::string list = "[ 0.1";
  for (int i = 0; i < 99; ++i) list += ", 0.1";
  list += " ]";
  EXPECT_EQ(line(list), list);
  const toml::table recipe = toml::parse("[[a]]\nb = 1\n[[a]]\nc = 0.5\n");
  EXPECT_EQ(toml_line(*recipe.get("a")), "[ { b = 1 }, { c = 0.5 } ]");
}

}  // namespace
}  // namespace penstock::configs
