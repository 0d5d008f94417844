#include "runtime/text/folded_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

using configs::Fold;

TEST(FoldedText, FoldsCaseAndWhiteSpace) {
  EXPECT_EQ(folded_text(" \tAÀ\u00a0\n  Ł. ", Fold::lower), U"aà Ł.");
  EXPECT_EQ(folded_text("aÀ ß", Fold::upper), U"AÀ ß");
  EXPECT_EQ(folded_text("aÀ  ß", Fold::none), U"aÀ ß");
  EXPECT_THROW((void)folded_text("\xff", Fold::none), DataError);
}

TEST(ListedCharacters, StandOnceInOrder) {
  EXPECT_EQ(listed(U"7é7 é"), "'7' (U+0037), 'é' (U+00E9), ' ' (U+0020)");
  EXPECT_EQ(listed(U""), "");
}

}  // namespace
}  // namespace penstock::runtime
