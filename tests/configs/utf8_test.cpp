#include "configs/utf8.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Utf8, IsWhatJsonTakes) {
  for (const char* good : {"", "plain", "Müller/日本.wav", "\xf0\x9f\x8e\xa4"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xe9.wav", "cut \xe2\x82", "overlong \xc0\xaf", "\xed\xa0\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace penstock
