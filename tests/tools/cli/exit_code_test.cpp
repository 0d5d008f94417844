#include "tools/cli/exit_code.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::tools {
namespace {

TEST(ExitCode, FollowsTheErrorsType) {
  EXPECT_EQ(exit_code(ConfigError("")), 2);
  EXPECT_EQ(exit_code(DataError("")), 3);
  EXPECT_EQ(exit_code(CheckpointError("")), 4);
  EXPECT_EQ(exit_code(CommError("")), 1);
  EXPECT_EQ(exit_code(ShapeError("")), 1);
  EXPECT_EQ(exit_code(DivergenceError("")), 1);
  EXPECT_EQ(exit_code(std::bad_alloc()), 1);
}

}  // namespace
}  // namespace penstock::tools
