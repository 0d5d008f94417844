#include "base/table.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Table, SetsNumbersRightAndTextLeft) {
  const TableRows rows{{"layer", "shape", "bytes", "time"},
                       {"conv1", "8×41", "12", "9.5 ms"},
                       {"rnn", "2", "1,024", "1 s"}};
  EXPECT_EQ(table_text(rows, 80),
            "layer  shape  bytes    time\n"
            "conv1  8×41      12  9.5 ms\n"
            "rnn    2      1,024     1 s\n");
}

TEST(Table, OfAHeadingAlone) { EXPECT_EQ(table_text({{"layer", "bytes"}}, 80), "layer  bytes\n"); }

TEST(Table, WrapsHeadingsFirst) {
  const TableRows rows{{"layer", "bytes on the host", "why"}, {"conv1", "12", "there is room"}};
  EXPECT_EQ(table_text(rows, 30),
            "       bytes on\n"
            "layer  the host  why\n"
            "conv1        12  there is room\n");
}

TEST(Table, WrapsTextsWithinTheirCells) {
  const TableRows rows{{"stage", "step", "why"},
                       {"0", "1,024 ms", "it waits for the links of the others"},
                       {"1", "2 ms", "no"}};
  EXPECT_EQ(table_text(rows, 34),
            "stage      step  why\n"
            "    0  1,024 ms  it waits for the\n"
            "                 links of the\n"
            "                 others\n"
            "    1      2 ms  no\n");
}

TEST(Table, ComesInBlocksWithTheFirstColumn) {
  const TableRows rows{{"MiB", "0", "1", "2", "3"},
                       {"weights", "1000.5", "2000.5", "3000.5", "4000.5"},
                       {"ü", "1.5", "2.5", "3.5"}};
  EXPECT_EQ(table_text(rows, 31),
            "MiB           0       1\n"
            "weights  1000.5  2000.5\n"
            "ü           1.5     2.5\n"
            "\n"
            "MiB           2       3\n"
            "weights  3000.5  4000.5\n"
            "ü           3.5\n");
}

}  // namespace
}  // namespace penstock
