#include "runtime/text/utf8.h"

#include <gtest/gtest.h>

#include "layers/tensor/error.h"

namespace penstock {
namespace {

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c == 0xd800) c = 0xe000;
    const std::u32string one(1, c);
    ASSERT_EQ(from_utf8(to_utf8(one)), one) << static_cast<std::uint32_t>(c);
  }
}

TEST(Utf8, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
    EXPECT_THROW(from_utf8(text), DataError) << text;
}

TEST(Utf8, KnowsWhiteSpace) {
  for (const char32_t c : std::u32string(U" \t\n\r\u00a0\u2003\u3000")) EXPECT_TRUE(is_space(c));
  for (const char32_t c : std::u32string(U"a0_\u200b\ufeff")) EXPECT_FALSE(is_space(c));
}

}  // namespace
}  // namespace penstock
