#include <gtest/gtest.h>

#include "comm/nccl.h"

namespace penstock::comm {
namespace {

// 4 + 4.69 + 0.5 MiB in pages of 2 MiB, and 16 MiB besides.
TEST(NcclMemory, CountsBuffersOfEveryWayAndChannel) {
  EXPECT_EQ(nccl_memory(0), std::size_t{16} << 20);
  EXPECT_EQ(nccl_memory(1, 1), std::size_t{26} << 20);
  EXPECT_EQ(nccl_memory(3, 2), std::size_t{76} << 20);
}

}  // namespace
}  // namespace penstock::comm
