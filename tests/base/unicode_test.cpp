#include "base/unicode.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

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
