#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "comm/join.h"
#include "comm/nccl.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::comm {
namespace {

const std::map<std::string, std::string> kSettings = {{"CUDA_MODULE_LOADING", "EAGER"},
                                                      {"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                                                      {"NCCL_LAUNCH_ORDER_IMPLICIT", "1"}};

/// Unsets the variables before and after each test, as if nobody had set them.
class NcclSettings : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }

  static void forget() {
    for (const auto& [name, value] : kSettings) ::unsetenv(name.c_str());
    for (const char* name :
         {"PENSTOCK_RANK", "PENSTOCK_RANKS", "PENSTOCK_MEET", "NCCL_SOCKET_IFNAME",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"})
      ::unsetenv(name);
  }
  static std::map<std::string, std::string> found() {
    std::map<std::string, std::string> set;
    for (const auto& [name, value] : kSettings)
      if (const char* text = std::getenv(name.c_str())) set[name] = text;
    return set;
  }
};

TEST_F(NcclSettings, AreSetWhereNobodyHas) {
  set_nccl_defaults();
  EXPECT_EQ(found(), kSettings);
}

TEST_F(NcclSettings, OfTheUserStay) {
  for (const auto& [name, value] : kSettings) {
    forget();
    ::setenv(name.c_str(), "mine", 1);
    set_nccl_defaults();
    EXPECT_EQ(std::getenv(name.c_str()), std::string("mine")) << name;
    EXPECT_EQ(found().size(), kSettings.size()) << name;
  }
}

TEST_F(NcclSettings, KeepOneMachineOnItsLoopback) {
  set_nccl_defaults();
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  set_nccl_defaults();
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), nullptr);
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  set_nccl_defaults();
  EXPECT_EQ(std::getenv("NCCL_SOCKET_IFNAME"), std::string("=lo"));
}

TEST(NcclLaunches, AreInOrderFromCuda12_3On) {
  EXPECT_TRUE(nccl_orders_launches({.driver = 12030, .runtime = 12030}));
  EXPECT_TRUE(nccl_orders_launches({.driver = 13010, .runtime = 12080}));
  EXPECT_FALSE(nccl_orders_launches({.driver = 12020, .runtime = 12080}));  // NCCL looks at both
  EXPECT_FALSE(nccl_orders_launches({.driver = 13000, .runtime = 12020}));
  EXPECT_FALSE(nccl_orders_launches({}));
}

TEST_F(NcclSettings, AreThoseOfRanksAlone) {
  (void)join_job();
  EXPECT_TRUE(found().empty());
  const test::TemporaryFolder folder;
  ::setenv("PENSTOCK_RANK", "0", 1);
  ::setenv("PENSTOCK_RANKS", "1", 1);
  ::setenv("PENSTOCK_MEET", folder.path().c_str(), 1);
  (void)join_job();
  EXPECT_EQ(found(), kSettings);
}

// 4 + 4.69 + 0.5 MiB in pages of 2 MiB, and 16 MiB besides.
TEST(NcclMemory, CountsBuffersOfEveryWayAndChannel) {
  EXPECT_EQ(nccl_memory(0), std::size_t{16} << 20);
  EXPECT_EQ(nccl_memory(1, 1), std::size_t{26} << 20);
  EXPECT_EQ(nccl_memory(3, 2), std::size_t{76} << 20);
}

}  // namespace
}  // namespace penstock::comm
