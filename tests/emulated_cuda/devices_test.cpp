// Devices that a training is refused on: with a driver too old, in error, or of different models.

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/config.h"
#include "layers/backend.h"
#include "runtime/devices/device.h"
#include "tests/emulated_cuda/emulation/control.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock;

class OldDriver : public ::testing::Test {
 protected:
  void SetUp() override { set_driver(12020); }
  void TearDown() override { set_driver(CUDART_VERSION); }

  static penstock::configs::TrainerConfig on(const std::string& device) {
    penstock::configs::TrainerConfig config;
    config.device = device;
    return config;
  }
  const std::string why_ = "the driver is for CUDA up to 12.2, but this penstock needs CUDA 13.";
};

TEST_F(OldDriver, IsNamedOnEveryRank) {
  penstock::comm::run_as_threads({.ranks = 3}, [this](penstock::comm::Communicator& world) {
    try {
      static_cast<void>(penstock::runtime::choose_device(on("cuda"), world));
      FAIL() << "rank " << world.rank() << " has a device";
    } catch (const DeviceError& error) {
      const std::string message = error.what();
      for (const std::string& part : {why_, std::string("rank 0 on "), std::string("rank 2 on ")})
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  });
}

TEST_F(OldDriver, LeavesTheCpuAndSaysSo) {
  penstock::comm::run_as_threads({.ranks = 2}, [this](penstock::comm::Communicator& world) {
    const penstock::runtime::RankDevice device =
        penstock::runtime::choose_device(on("auto"), world);
    EXPECT_EQ(device.backend->kind(), penstock::layers::DeviceKind::cpu);
    EXPECT_NE(device.how.find(why_), std::string::npos) << device.how;
  });
}

/// Sets the runtime to CUDA 12.8, as in the pack for CUDA 12, whose drivers need not be newer than
/// 525.
class OldCuda12 : public OldDriver {
 protected:
  void SetUp() override { set_runtime(12080); }
  void TearDown() override {
    set_runtime(CUDART_VERSION);
    OldDriver::TearDown();
  }
};

TEST_F(OldCuda12, IsRefusedOnEveryRankThatNcclConnects) {
  set_driver(12020);
  penstock::comm::run_as_threads({.ranks = 2}, [](penstock::comm::Communicator& world) {
    try {
      static_cast<void>(penstock::runtime::choose_device(on("auto"), world));
      ADD_FAILURE() << "rank " << world.rank() << " has nothing against it";
    } catch (const DeviceError& error) {
      const std::string message = error.what();
      for (const char* part :
           {"NCCL needs CUDA 12.3", "rank 0 on ", "rank 1 on ", "a driver for CUDA 12.2",
            "CUDA's runtime 12.8", "a driver of 545 or newer"})
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  });
}

TEST_F(OldCuda12, ServesOneRank) {
  set_driver(12020);
  penstock::comm::run_as_threads({.ranks = 1}, [](penstock::comm::Communicator& world) {
    EXPECT_EQ(penstock::runtime::choose_device(on("cuda"), world).place.find("CUDA device 0"), 0u);
  });
}

TEST_F(OldCuda12, IsNewEnoughFrom12_3On) {
  set_driver(12030);
  penstock::comm::run_as_threads({.ranks = 2}, [](penstock::comm::Communicator& world) {
    EXPECT_EQ(penstock::runtime::choose_device(on("cuda"), world).links,
              penstock::runtime::DeviceLinks::nccl);
  });
}

class DevicesInError : public ::testing::Test {
 protected:
  void TearDown() override { set_counting(cudaSuccess); }
};

TEST_F(DevicesInError, AreNotTakenForNone) {
  set_counting(cudaErrorIllegalAddress);
  try {
    static_cast<void>(penstock::layers::cuda_device_count());
    FAIL() << "devices in error were counted";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaErrorIllegalAddress"), std::string::npos)
        << error.what();
  }
  penstock::configs::TrainerConfig config;
  config.device = "auto";
  EXPECT_THROW(static_cast<void>(penstock::runtime::device_kind(config)), DeviceError);
}

TEST_F(DevicesInError, AreNoneWhereCudaFindsNone) {
  set_counting(cudaErrorNoDevice);
  EXPECT_EQ(penstock::layers::cuda_device_count(), 0);
  EXPECT_EQ(penstock::layers::cuda_absence(), "cudaErrorNoDevice");
}

TEST(MixedDevices, AmongAStagesReplicasThrowOnEveryRank) {
  set_model(3, "another GPU");
  penstock::comm::run_as_threads({.ranks = 4}, [](penstock::comm::Communicator& world) {
    penstock::configs::TrainerConfig config;
    config.device = "cuda";
    const penstock::runtime::RankDevice device = penstock::runtime::choose_device(config, world);
    penstock::runtime::require_equal_replicas(device, world.rank() / 3,
                                              world);  // rank 3 is a stage of its own
    try {
      penstock::runtime::require_equal_replicas(device, world.rank() % 2, world);
      ADD_FAILURE() << "rank " << world.rank() << " has nothing against it";
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what())
                    .find("replicas of stage 1 would compute on another GPU "
                          "(rank 3) and emulated CUDA (rank 1), which"),
                0u)
          << error.what();
    }
  });
  set_model(3, "emulated CUDA");
}

}  // namespace
}  // namespace emulated_cuda::test
