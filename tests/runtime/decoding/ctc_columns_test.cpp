#include "runtime/decoding/ctc_columns.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::runtime {
namespace {

TEST(CtcColumns, AreTheLastOfEachRow) {
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(columns_from(rows, 3, 1), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(columns_from(rows, 3, 0), rows);
  EXPECT_THROW((void)columns_from(rows, 4, 1), ShapeError);
  EXPECT_THROW((void)columns_from(rows, 3, 3), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
