#include "runtime/profiling/measure_device.h"

#include <gtest/gtest.h>

#include "partition/planner/cost/device_file.h"

namespace penstock::runtime {
namespace {

using partition::CostClass;

TEST(MeasureDevice, GivesADeviceThatFilesHold) {
  const partition::RatedDevice like = partition::read_device("cpu-avx2");
  configs::TrainerConfig cpu;
  cpu.device = "cpu";
  const partition::RatedDevice found = measure_device(cpu, like, 0);
  EXPECT_EQ(found.memory_gib, like.memory_gib);
  EXPECT_EQ(found.common.cache_bytes, like.common.cache_bytes);
  const partition::RatedDevice read =
      partition::parse_device(partition::device_toml(found), "found.toml");
  EXPECT_EQ(read.source, found.source);
  EXPECT_NEAR(read.products.f32, found.products.f32, 1e-3 * found.products.f32);
  EXPECT_NEAR(read.products.bf16, found.products.bf16, 1e-3 * found.products.bf16);
  EXPECT_NEAR(read.attention.f16, found.attention.f16, 1e-3 * found.attention.f16);
  EXPECT_NEAR(read.recurrences.f32, found.recurrences.f32, 1e-3 * found.recurrences.f32);
  const partition::DeviceRates &a = read.common, &b = found.common;
  EXPECT_NEAR(a.bandwidth, b.bandwidth, 1e-3 * b.bandwidth);
  EXPECT_NEAR(a.elementwise, b.elementwise, 1e-3 * b.elementwise);
  EXPECT_NEAR(a.cache_bandwidth, b.cache_bandwidth, 1e-3 * b.cache_bandwidth);
  EXPECT_NEAR(a.time_step, b.time_step, 1e-3 * b.time_step);
  EXPECT_NEAR(a.launch, b.launch, 1e-3 * b.launch);
  EXPECT_NEAR(read.error[static_cast<int>(CostClass::products)],
              found.error[static_cast<int>(CostClass::products)], 1e-9);
}

}  // namespace
}  // namespace penstock::runtime
