#include "base/counted.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Counted, HasAPluralButForOne) {
  EXPECT_EQ(counted(0, "lane"), "0 lanes");
  EXPECT_EQ(counted(1, "lane"), "1 lane");
  EXPECT_EQ(counted(2, "lane"), "2 lanes");
}

TEST(Counted, TakesAPluralOfItsOwn) {
  EXPECT_EQ(counted(0, "copy", "copies"), "0 copies");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(11, "copy", "copies"), "11 copies");
}

}  // namespace
}  // namespace penstock
