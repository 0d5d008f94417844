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

TEST(Device, SaysThatTheCpuComputesTf32AsFp32) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    EXPECT_EQ(choose_device(on("cpu"), world, {.compute = "tf32"}).how,
              "precision.compute is tf32, which the CPU computes as fp32");
  });
}

/// A training of two steps on the CPU.
struct Trained {
  double loss;
  std::string notes;
};
Trained train_on_cpu(const std::string& compute) {
  const test::TemporaryFolder folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  test::write_tone_corpus(in("train.jsonl"), 9, 1);
  const std::vector<std::string> overrides = {"trainer.steps=2", "trainer.device=cpu",
                                              "precision.compute=" + compute};
  const configs::Config config =
      configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe",
                            layers::model_families(), overrides);
  Trained trained;
  TrainingObserver observer;
  observer.note = [&](const std::string& note) { trained.notes += note + "\n"; };
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    trained.loss = train({config}, world, observer).last_step.loss;
  });
  return trained;
}

TEST(Device, ComputesTf32AsFp32OnTheCpu) {
  const Trained in_fp32 = train_on_cpu("fp32"), in_tf32 = train_on_cpu("tf32");
  EXPECT_EQ(in_tf32.loss, in_fp32.loss);
  EXPECT_EQ(in_fp32.notes.find("tf32"), std::string::npos) << in_fp32.notes;
  EXPECT_NE(in_tf32.notes.find("precision.compute is tf32, which the CPU computes as fp32"),
            std::string::npos)
      << in_tf32.notes;
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
