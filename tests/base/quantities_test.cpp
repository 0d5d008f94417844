#include "base/quantities.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Quantities, NumbersHaveFourDigitsAndNoExponent) {
  EXPECT_EQ(number_text(42840.3), "42,840");
  EXPECT_EQ(number_text(1234567), "1,234,567");
  EXPECT_EQ(number_text(999.96), "1,000");
  EXPECT_EQ(number_text(60.004), "60");
  EXPECT_EQ(number_text(0.0029561), "0.002956");
  EXPECT_EQ(number_text(-1060.4), "-1,060");
  EXPECT_EQ(number_text(-106), "-106");
  EXPECT_EQ(number_text(0), "0");
}

TEST(Quantities, TimesHaveTheUnitThatPeopleSay) {
  EXPECT_EQ(seconds_text(0.001491), "1.491 ms");
  EXPECT_EQ(seconds_text(31.2e-9), "0.0312 µs");
  EXPECT_EQ(seconds_text(2.5e-5), "25 µs");
  EXPECT_EQ(seconds_text(90), "90 s");
  EXPECT_EQ(seconds_text(750), "12.5 min");
  EXPECT_EQ(seconds_text(7199), "120 min");
  EXPECT_EQ(seconds_text(7200), "2 h");
  EXPECT_EQ(seconds_text(400000), "4.63 days");
  EXPECT_EQ(seconds_text(0), "0 s");
}

TEST(Quantities, BytesHaveBinaryUnits) {
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(15.2 * (1 << 30)), "15.2 GiB");
  EXPECT_EQ(bytes_text(0), "0 B");
}

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
