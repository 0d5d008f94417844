#include "runtime/data/manifest/excerpt.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::runtime {
namespace {

TEST(Excerpt, KeepsShortTextsWhole) {
  EXPECT_EQ(excerpt(""), "");
  EXPECT_EQ(excerpt("héllo"), "héllo");
  EXPECT_EQ(excerpt("abc", 3), "abc");
}

TEST(Excerpt, IsCutBetweenCharacters) {
  EXPECT_EQ(excerpt("abcd", 3), "abc");
  EXPECT_EQ(excerpt("aéb", 2), "a");
  EXPECT_EQ(excerpt("aéb", 3), "aé");
  for (std::size_t bytes = 1; bytes < 5; ++bytes) EXPECT_EQ(excerpt("a😀b", bytes), "a") << bytes;
  EXPECT_EQ(excerpt("a😀b", 5), "a😀");
  EXPECT_EQ(excerpt(std::string(1000, 'x')), std::string(60, 'x'));
}

TEST(Excerpt, IsUtf8WhateverTheTextIs) {
  EXPECT_EQ(excerpt("caf\xe9!"), "caf\xef\xbf\xbd!");
  EXPECT_EQ(excerpt(std::string(9, '\x80'), 4), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace penstock::runtime
