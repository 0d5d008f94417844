#include "runtime/text/label.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

TEST(Label, IsEqualIfItAddsTheSameText) {
  EXPECT_EQ((Label{"▁", " "}), (Label{" ", " "}));
  EXPECT_NE((Label{"▁a", " a"}), (Label{"a", "a"}));
  EXPECT_NE((Label{"a", "a"}), (Label{"A", "A"}));
}

TEST(Label, SymbolsAreComparedByTheirNames) {
  EXPECT_EQ((Label{"<unk>", ""}), (Label{"<unk>", ""}));
  EXPECT_NE((Label{"<unk>", ""}), (Label{"<s>", ""}));
  EXPECT_NE((Label{"<unk>", ""}), (Label{"<unk>", "<unk>"}));  // a piece for this text
  EXPECT_NE((Label{"<unk>", ""}), Label());
}

TEST(Label, IsOrderedStrictly) {
  const Label blank, symbol{"<s>", ""}, space{"▁", " "}, letter{"a", "a"};
  EXPECT_LT(blank, symbol);
  EXPECT_LT(symbol, space);
  EXPECT_LT(space, letter);
  EXPECT_FALSE(letter < letter);
}

}  // namespace
}  // namespace penstock::runtime
