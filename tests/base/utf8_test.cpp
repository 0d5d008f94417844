#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c == 0xd800) c = 0xe000;
    const DecodedText one = decode_utf8(to_utf8({&c, 1}));
    ASSERT_FALSE(one.wrong_byte) << static_cast<std::uint32_t>(c);
    ASSERT_EQ(one.characters, std::u32string(1, c)) << static_cast<std::uint32_t>(c);
  }
}

TEST(Utf8, NamesTheFirstByteThatIsNot) {
  for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"}) {
    const DecodedText decoded = decode_utf8("aé" + std::string(text));
    EXPECT_EQ(decoded.wrong_byte, 3u) << text;
    EXPECT_EQ(decoded.characters, U"aé") << text;
  }
}

TEST(Utf8, KnowsWhiteSpace) {
  for (const char32_t c : std::u32string(U" \t\n\r\u00a0\u2003\u3000")) EXPECT_TRUE(is_space(c));
  for (const char32_t c : std::u32string(U"a0_\u200b\ufeff")) EXPECT_FALSE(is_space(c));
}

TEST(FromUtf8, GivesCodePoints) { EXPECT_EQ(from_utf8("aß\u20ac"), U"aß\u20ac"); }

TEST(FromUtf8, NamesTheWrongByte) {
  EXPECT_EQ(test::message_of<DataError>([] { from_utf8("ä\xff"); }),
            "not UTF-8 at byte 2 of a text");
}

}  // namespace
}  // namespace penstock
