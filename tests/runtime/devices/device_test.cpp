#include "runtime/devices/device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::message_of;

configs::TrainerConfig on(const std::string& device) {
  configs::TrainerConfig config;
  config.device = device;
  return config;
}

TEST(Device, IsTheCpuWhereTheRecipeSaysSo) {
  EXPECT_EQ(device_kind(on("cpu")), layers::DeviceKind::cpu);
  EXPECT_EQ(make_backend(on("cpu"))->kind(), layers::DeviceKind::cpu);
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& world) {
    const RankDevice device = choose_device(on("cpu"), world);
    EXPECT_EQ(device.backend->kind(), layers::DeviceKind::cpu);
    EXPECT_EQ(device.how, "");
    require_memory(device, std::size_t{1} << 60, world);  // the system's affair
  });
}

TEST(Device, RejectsUnknownNames) {
  const std::string message = message_of<ConfigError>([] { (void)device_kind(on("tpu")); });
  EXPECT_EQ(message, "trainer.device is \"tpu\", expected auto, cpu or cuda");
}

class DeviceWithoutGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (layers::cuda_device_count() > 0) GTEST_SKIP() << "there is a CUDA device here";
  }
};

TEST_F(DeviceWithoutGpu, FallsBackToTheCpuAndSaysWhy) {
  EXPECT_EQ(device_kind(on("auto")), layers::DeviceKind::cpu);
  EXPECT_NE(layers::cuda_absence(), "");
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const RankDevice device = choose_device(on("auto"), world);
    EXPECT_EQ(device.backend->kind(), layers::DeviceKind::cpu);
    EXPECT_EQ(device.how,
              "trainer.device is auto, and there is no CUDA device: " + layers::cuda_absence());
  });
}

TEST_F(DeviceWithoutGpu, RejectsCudaAndNamesTheRanksEverywhere) {
  EXPECT_THROW((void)make_backend(on("cuda")), DeviceError);
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const std::string asked = world.rank() == 1 ? "cpu" : "cuda";
    const std::string message =
        message_of<DeviceError>([&] { (void)choose_device(on(asked), world); });
    for (const std::string part : {"rank 0 on ", "rank 2 on ", "trainer.device = \"cpu\""})
      EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
    EXPECT_NE(message.find(layers::cuda_absence()), std::string::npos) << message;
  });
}

// On several stages layers are measured for the plan: the device must have been looked for before.
TEST_F(DeviceWithoutGpu, ThrowsBeforeARunReadsOrWrites) {
  const test::TemporaryFolder folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const std::vector<std::string> overrides = {"pipeline.stages=2", "trainer.device=cuda"};
  const configs::Config config =
      configs::parse_config(test::tone_recipe(in("none.jsonl"), in("none.jsonl"), in("output")),
                            "recipe", layers::model_families(), overrides);
  const std::string message = message_of<DeviceError>([&] {
    comm::run_as_threads({.ranks = 2},
                         [&](comm::Communicator& world) { runtime::train({config}, world, {}); });
  });
  for (const std::string part : {"rank 0 on ", "rank 1 on ", "trainer.device = \"cpu\""})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(in("output")));
}

}  // namespace
}  // namespace penstock::runtime
