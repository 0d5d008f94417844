#include "base/json_nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

/// `inner` within so many brackets.
std::string within(std::size_t depth, const std::string& inner) {
  return std::string(depth, '[') + inner + std::string(depth, ']');
}

TEST(JsonNesting, CountsOpenBrackets) {
  EXPECT_FALSE(json_nests_too_deeply(within(kDeepestNesting, "1")));
  EXPECT_TRUE(json_nests_too_deeply(within(kDeepestNesting, "{}")));
  EXPECT_TRUE(json_nests_too_deeply(std::string(kDeepestNesting + 1, '[')));
  EXPECT_FALSE(json_nests_too_deeply("]]]]" + within(kDeepestNesting, "")));
  std::string beside;
  for (std::size_t i = 0; i <= kDeepestNesting; ++i) beside += "{\"a\": [1]},";
  EXPECT_FALSE(json_nests_too_deeply("[" + beside));
}

TEST(JsonNesting, PassesOverStrings) {
  const std::string brackets(kDeepestNesting + 1, '[');
  EXPECT_FALSE(json_nests_too_deeply("\"" + brackets + "\""));
  EXPECT_FALSE(json_nests_too_deeply("\"\\\"" + brackets + "\""));
  EXPECT_TRUE(json_nests_too_deeply("\"\\\\\"" + brackets));
  EXPECT_TRUE(json_nests_too_deeply("\"\"" + brackets));
}

}  // namespace
}  // namespace penstock
