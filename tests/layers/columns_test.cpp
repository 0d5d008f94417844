#include "layers/columns.h"

#include <gtest/gtest.h>

namespace penstock::layers {
namespace {

using Numbers = std::vector<double>;

TEST(Columns, AreThoseOfEveryRow) {
  const Numbers rows = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(columns(rows, 3, 0, 3), rows);
  EXPECT_EQ(columns(rows, 3, 1, 2), (Numbers{2, 3, 5, 6, 8, 9}));
  EXPECT_EQ(columns(rows, 3, 2, 1), (Numbers{3, 6, 9}));
  EXPECT_EQ(columns({}, 3, 1, 2), Numbers());
}

}  // namespace
}  // namespace penstock::layers
