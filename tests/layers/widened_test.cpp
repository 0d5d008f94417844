#include "layers/widened.h"

#include <gtest/gtest.h>

namespace penstock::layers {
namespace {

const BackendSizes kHalves{DeviceKind::cpu, DType::bf16};

TEST(Widened, CountsFp32NumbersOnBoundaries) {
  EXPECT_EQ(widened(kHalves, {16, 17, 1}), 64u + 128u + 64u);
  EXPECT_EQ(widened(kHalves, {}), 0u);
  EXPECT_EQ(widened(kHalves, {0, 3}), 64u);
}

TEST(Widened, AreNoneWhereNothingIsCopied) {
  EXPECT_EQ(widened({DeviceKind::cuda, DType::bf16}, {100}), 0u);
  EXPECT_EQ(widened({DeviceKind::cpu, DType::f32}, {100}), 0u);
  EXPECT_EQ(widened({DeviceKind::cpu, DType::f64}, {100}), 0u);
}

TEST(Widened, LieBehindAlignedWorkspaces) {
  Workspace workspace{65, 7, 13};
  add_copies(workspace, {64, 192, 0});
  EXPECT_EQ(workspace.forward, 128u + 64u);
  EXPECT_EQ(workspace.backward_input, 64u + 192u);
  EXPECT_EQ(workspace.backward_weight, 13u);  // nothing moves where nothing is copied
}

}  // namespace
}  // namespace penstock::layers
