#include "base/wrap.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksAtSpacesAndCountsCharacters) {
  EXPECT_EQ(wrap("größer → schön", 14), (Lines{"größer → schön"}));
  EXPECT_EQ(wrap("größer → schön", 13), (Lines{"größer", "→ schön"}));
  EXPECT_EQ(wrap("a line\nand one", 6), (Lines{"a line", "and", "one"}));
}

TEST(Wrap, KeepsNumbersWithWhatTheyCount) {
  EXPECT_EQ(wrap("it takes 16.5 s of 2 stages × 3 replicas", 14),
            (Lines{"it takes", "16.5 s of", "2 stages", "× 3 replicas"}));
  EXPECT_EQ(wrap("letters: a 1, b 12", 11), (Lines{"letters:", "a 1, b 12"}));
  EXPECT_EQ(wrap("0 1 2 3 4", 5), (Lines{"0 1 2", "3 4"})) << "but not with other numbers";
}

TEST(Wrap, BreaksLongWordsAtTheirSigns) {
  EXPECT_EQ(wrap("see encoder.layers.0.weight", 12),
            (Lines{"see encoder.", "layers.0.", "weight"}));
  EXPECT_EQ(wrap("node0:0+node1:0", 10), (Lines{"node0:0+", "node1:0"}));
  EXPECT_EQ(wrap("1,234,567.25", 5), (Lines{"1,234,567.25"})) << "numbers are whole";
  EXPECT_EQ(wrap("unbreakable", 5), (Lines{"unbreakable"}));
}

TEST(Wrap, SaysHowNarrowATextCanBe) {
  EXPECT_EQ(min_width("3 stages of two", 24), 8u);
  EXPECT_EQ(min_width("micro-batches", 24), 13u);
  EXPECT_EQ(min_width("micro-batches", 12), 7u);
}

TEST(Wrap, IndentsAllLinesButTheFirst) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("short", 9, 2), "short");
}

TEST(Wrap, TellsQuantitiesFromTexts) {
  for (const char* number : {"1,024", "-0.5", "≥ 16.23 ms", "2.7 %", "–", "1 min 20 s"})
    EXPECT_TRUE(is_quantity(number)) << number;
  for (const char* text :
       {"", "8×41", "0 1 2", "2 stages here", "conv1", "≥", "3 replicas", "2 × 4"})
    EXPECT_FALSE(is_quantity(text)) << text;
}

}  // namespace
}  // namespace penstock
