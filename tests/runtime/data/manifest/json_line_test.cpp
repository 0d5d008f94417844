#include "runtime/data/manifest/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace penstock::runtime {
namespace {

using LineJson = nlohmann::json;

TEST(JsonLine, PartsOfOtherKindsAreNone) {
  const LineJson object = {{"text", "a"}, {"number", 1.5}, {"list", {1, 2}}, {"huge", nullptr}};
  EXPECT_EQ(string_in(object, "text"), "a");
  EXPECT_EQ(number_in(object, "number"), 1.5);
  EXPECT_EQ(part_in(object, "list").size(), 2u);
  for (const char* key : {"number", "list", "huge", "missing"})
    EXPECT_FALSE(string_in(object, key)) << key;
  for (const char* key : {"text", "list", "huge", "missing"})
    EXPECT_FALSE(number_in(object, key)) << key;
  for (const char* key : {"text", "number", "huge", "missing"})
    EXPECT_TRUE(part_in(object, key).empty()) << key;
}

TEST(JsonLine, WhatIsNoObjectHasNoParts) {
  for (const LineJson& value : {LineJson(3), LineJson("text"), LineJson::array({1}), LineJson()}) {
    EXPECT_FALSE(string_in(value, "key"));
    EXPECT_FALSE(number_in(value, "key"));
    EXPECT_TRUE(part_in(value, "key").empty());
  }
}

}  // namespace
}  // namespace penstock::runtime
