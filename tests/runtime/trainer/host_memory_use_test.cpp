#include "runtime/trainer/host_memory_use.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/quantities.h"
#include "comm/threads.h"

namespace penstock::runtime {
namespace {

HostMemoryUse room(const std::string& machine, double planned, double limit, double copy) {
  return {machine, 100 * kGib, planned * kGib, limit * kGib, copy * kGib};
}

TEST(HostMemoryUse, IsThereUpToARanksLimit) {
  EXPECT_EQ(memory_shortage({room("lion", 7, 10, 3), room("lion", 8, 0, 80)}), "");
  const std::string lack = memory_shortage({room("lion", 7, 10, 3), room("lion", 7, 10, 3.5)});
  EXPECT_EQ(lack,
            "a copy of the state takes 3.5 GiB on rank 1, besides the 7 GiB of the plan, and "
            "pipeline.memory_gib is 10");
}

TEST(HostMemoryUse, IsAMachinesForAllItsRanks) {
  EXPECT_EQ(memory_shortage({room("lion", 30, 0, 20), room("lion", 30, 0, 20)}), "");
  EXPECT_EQ(memory_shortage({room("lion", 30, 0, 20), room("tiger", 30, 0, 20),
                             room("lion", 30, 0, 20.5), room("tiger", 1, 0, 20)}),
            "a copy of the state takes 40.5 GiB on lion, besides the 60 GiB of the plan, and the "
            "machine has 100 GiB");
}

TEST(HostMemoryUse, IsToldAllRanksAlike) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const double copy = world.rank() == 2 ? 9 : 1;
    const std::string lack = memory_shortage(world, room("lion", 2, 10, copy));
    EXPECT_NE(lack.find("9 GiB on rank 2"), std::string::npos) << lack;
  });
}

}  // namespace
}  // namespace penstock::runtime
