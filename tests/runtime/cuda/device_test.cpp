#include "runtime/devices/device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/nccl.h"
#include "comm/threads.h"

namespace penstock::runtime {
namespace {

configs::TrainerConfig on(const std::string& device) {
  configs::TrainerConfig config;
  config.device = device;
  return config;
}

/// Returns the message that each rank's call raised; empty where it raised none.
template <class Raised, class Work>
std::vector<std::string> messages_of(int ranks, Work work) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    try {
      work(world);
    } catch (const Raised& error) {
      messages[static_cast<std::size_t>(world.rank())] = error.what();
    }
  });
  return messages;
}

void expect_parts(const std::vector<std::string>& messages, const std::vector<std::string>& parts) {
  for (const std::string& message : messages)
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " in \"" << message << '"';
}

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  }
};

TEST_F(CudaDevice, EachRankHasOneAndUsesNccl) {
  const int devices = layers::cuda_device_count();
  comm::run_as_threads({.ranks = devices}, [devices](comm::Communicator& world) {
    const RankDevice device = choose_device(on("auto"), world);
    EXPECT_EQ(device.backend->kind(), layers::DeviceKind::cuda);
    EXPECT_EQ(device.place.find("CUDA device " + std::to_string(world.rank()) + " of "), 0u);
    const bool nccl = comm::nccl_is_built() && devices > 1;
    EXPECT_EQ(device.links, nccl ? DeviceLinks::nccl : DeviceLinks::host);
    EXPECT_EQ(device.how.find("NCCL carries") != std::string::npos, nccl) << device.how;
  });
}

TEST_F(CudaDevice, IsSharedByMoreRanksWithoutNccl) {
  const int ranks = layers::cuda_device_count() + 1;
  comm::run_as_threads({.ranks = ranks}, [ranks](comm::Communicator& world) {
    const RankDevice device = choose_device(on("cuda"), world);
    EXPECT_EQ(device.links, DeviceLinks::host);
    EXPECT_NE(device.how.find("through pinned memory"), std::string::npos) << device.how;
    EXPECT_NE(device.how.find(counted(ranks - 1, "CUDA device")), std::string::npos) << device.how;
  });
}

TEST_F(CudaDevice, IsRejectedBesideTheCpuOnEveryRank) {
  expect_parts(messages_of<ConfigError>(3,
                                        [](comm::Communicator& world) {
                                          (void)choose_device(
                                              on(world.rank() == 1 ? "cpu" : "cuda"), world);
                                        }),
               {"CUDA device to rank 0 on ", ", rank 2 on ", "the CPU to rank 1 on "});
}

TEST_F(CudaDevice, TooLittleMemoryIsNamedOnEveryRank) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 50;
  const int ranks = layers::cuda_device_count() + 1;  // the last shares a device with the first
  const auto try_to_take = [&](std::size_t bytes) {
    return messages_of<DeviceError>(ranks, [&](comm::Communicator& world) {
      require_memory(choose_device(on("cuda"), world), bytes, world, [&](std::size_t each) {
        return "a plan for " + std::to_string(each >> 40) + " TiB at rank " +
               std::to_string(world.rank());
      });
    });
  };
  EXPECT_EQ(try_to_take(1 << 20), std::vector<std::string>(static_cast<std::size_t>(ranks)));
  expect_parts(try_to_take(kTooMuch),
               {"the plan takes " + std::to_string((kTooMuch >> 19) + 1) + " MiB of CUDA device 0 ",
                "(rank 0, " + std::to_string(ranks - 1) + "), which has ", " MiB free",
                "more stages", "such a plan found: a plan for 0 TiB at rank 0"});
}

}  // namespace
}  // namespace penstock::runtime
