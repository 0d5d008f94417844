#include "base/unicode.h"

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

TEST(Utf8, WhiteSpaceOfExpressionsLacksSeparators) {
  for (const char32_t c : std::u32string(U" \t\n\u0085\u3000")) EXPECT_TRUE(is_white_space(c));
  for (const char32_t c : std::u32string(U"\u001c\u001f_\u200b")) EXPECT_FALSE(is_white_space(c));
}

// The expected texts are those of Python's bytes.decode(errors="replace").
TEST(Utf8, IsRepairedAsPythonDoes) {
  const std::string r = "\uFFFD";
  EXPECT_EQ(repaired_utf8("aé日😀"), "aé日😀");
  EXPECT_EQ(repaired_utf8("a\xff"
                          "b\xc3"),
            "a" + r + "b" + r);
  EXPECT_EQ(repaired_utf8("\xe6\x97x"), r + "x");
  EXPECT_EQ(repaired_utf8("\xf0\x9f\x98\xf0\x9f\x98\x80"), r + "😀");
  EXPECT_EQ(repaired_utf8("\xed\xa0\x80"), r + r + r);
  EXPECT_EQ(repaired_utf8("\xf4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(repaired_utf8("\xe0\x80\xc0\x80"), r + r + r + r);
  EXPECT_EQ(repaired_utf8("\xf0\x80"), r + r);
}

TEST(FromUtf8, GivesCodePoints) { EXPECT_EQ(from_utf8("aß\u20ac"), U"aß\u20ac"); }

TEST(FromUtf8, NamesTheWrongByte) {
  EXPECT_EQ(test::message_of<DataError>([] { from_utf8("ä\xff"); }),
            "not UTF-8 at byte 2 of a text");
}

TEST(Composed, JoinsLettersAndMarks) {
  EXPECT_EQ(composed(U"e\u0301a", false), U"\u00e9a");
  EXPECT_EQ(composed(U"\u1112\u1161\u11ab", false), U"\ud55c");
  EXPECT_EQ(composed(U"q\u0323\u0307", false), composed(U"q\u0307\u0323", false));
  EXPECT_EQ(composed(U"", false), U"");
}

TEST(Composed, LeavesCompatibleFormsUnlessAsked) {
  const std::u32string forms = U"\ufb01\uff21\u00b2\u2460";
  EXPECT_EQ(composed(forms, false), forms);
  EXPECT_EQ(composed(forms, true), U"fiA21");
  EXPECT_EQ(composed(U"\u00a0", true), U" ");
}

TEST(Composed, KeepsWhatUnicodeLacks) {
  EXPECT_EQ(composed(U"a\U000e1234b", true), U"a\U000e1234b");
}

TEST(Case, FoldsLettersOfEveryScript) {
  EXPECT_EQ(lower_case(U'\u0416'), U'\u0436');  // Ж
  EXPECT_EQ(upper_case(U'\u03c9'), U'\u03a9');  // ω
  EXPECT_EQ(lower_case(U'\u0141'), U'\u0142');  // Ł
  EXPECT_EQ(upper_case(U'\u00ff'), U'\u0178');  // ÿ
  EXPECT_EQ(upper_case(U'\u00df'), U'\u1e9e');  // ß
  EXPECT_EQ(upper_case(U'\u0561'), U'\u0531');  // ա
  for (const char32_t other : U"7,\u00d7\u3042\u0627\U0001f600")
    EXPECT_EQ(lower_case(upper_case(other)), other);
}

}  // namespace
}  // namespace penstock
