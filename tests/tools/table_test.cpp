#include "tools/table.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

TEST(Table, SetsNumbersRightAndTextLeft) {
  EXPECT_EQ(
      table_text({{"layer", "shape", "bytes"}, {"conv1", "8×41", "12"}, {"rnn", "2", "1,024"}}),
      "layer  shape  bytes\n"
      "conv1  8×41      12\n"
      "rnn    2      1,024\n");
}

TEST(Table, OfAHeadingAlone) { EXPECT_EQ(table_text({{"layer", "bytes"}}), "layer  bytes\n"); }

}  // namespace
}  // namespace penstock::tools
