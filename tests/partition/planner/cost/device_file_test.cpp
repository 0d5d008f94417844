#include "partition/planner/cost/device_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/config_folder.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using layers::DeviceKind, layers::DType, layers::Fp32Products;

const std::string kText = R"(
[device]
backend = "cuda"
memory_gib = 24
multiprocessors = 58
source = "somebody"
[products]
f32 = 12
f16 = 55
tile = 64
error = 0.3
[convolutions]
f32 = 8
error = 0
[attention]
f32 = 4
error = 0.5
[recurrences]
f32 = 3.5
cache_mb = 48
cache_gb_per_s = 1500
time_step_us = 4.5
error = 0.4
[memory]
gb_per_s = 260
elementwise_tflop_per_s = 6
error = 0.15
[launches]
us = 6
error = 0.5
)";

TEST(DeviceFile, IsReadInItsUnits) {
  const RatedDevice device = parse_device(kText, "some/l4.toml");
  EXPECT_EQ(device.name, "l4");
  EXPECT_EQ(device.source, "somebody");
  EXPECT_EQ(device.kind, DeviceKind::cuda);
  EXPECT_EQ(device.memory_gib, 24);
  const DeviceRates rates = device.rates({DeviceKind::cuda, DType::f16});
  EXPECT_EQ(rates.product, 55e12);
  EXPECT_EQ(rates.convolution, 8e12) << "a format that is not given counts as f32";
  EXPECT_EQ(rates.recurrence, 3.5e12);
  EXPECT_EQ(rates.elementwise, 6e12);
  EXPECT_EQ(rates.bandwidth, 260e9);
  EXPECT_EQ(rates.cache_bytes, 48e6);
  EXPECT_EQ(rates.cache_bandwidth, 1500e9);
  EXPECT_DOUBLE_EQ(rates.time_step, 4.5e-6);
  EXPECT_DOUBLE_EQ(rates.launch, 6e-6);
  EXPECT_EQ(rates.multiprocessors, 58);
  EXPECT_EQ(rates.tile, 64);
  EXPECT_EQ(rates.slice, 256);
  EXPECT_EQ(device.host_bandwidth, 0) << "unknown";
  std::string known = kText;
  known.insert(known.find("elementwise"), "host_gb_per_s = 12.5\n");
  EXPECT_EQ(parse_device(known, "some/l4.toml").host_bandwidth, 12.5e9);
  EXPECT_EQ(device.error[static_cast<int>(CostClass::products)], 0.3);
  EXPECT_EQ(device.error[static_cast<int>(CostClass::convolutions)], 0);
  EXPECT_EQ(device.error[static_cast<int>(CostClass::launches)], 0.5);
}

TEST(DeviceFile, FaultsAreNamedTogether) {
  std::string text = kText;
  const auto replace = [&](const std::string& what, const std::string& by) {
    text.replace(text.find(what), what.size(), by);
  };
  replace("\"cuda\"", "\"tpu\"");
  replace("gb_per_s = 260", "gb_per_second = 260");
  replace("error = 0.15", "error = 1.5");
  replace("tile = 64", "tile = 64.5");
  replace("us = 6", "us = -6");
  replace("source = \"somebody\"\n", "");
  try {
    (void)parse_device(text, "l4.toml");
    FAIL() << "read";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "the device can't be used:\n"
                 "  l4.toml:3: device.backend = 'tpu', but it takes \"cpu\" or \"cuda\"\n"
                 "  l4.toml:9: products.tile = 64.5, but it takes a whole number from 1 to "
                 "1048576\n"
                 "  l4.toml:24: unknown key memory.gb_per_second; did you mean memory.gb_per_s?\n"
                 "  l4.toml:26: memory.error = 1.5, but it takes a number from 0 to 0.9\n"
                 "  l4.toml:28: launches.us = -6, but it takes a number above 0\n"
                 "  l4.toml: memory.gb_per_s is missing\n"
                 "  l4.toml: device.source is missing");
  }
}

TEST(DeviceFile, MisspeltNamesGetTheNearest) {
  try {
    (void)read_device("h10O");
    FAIL() << "read";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean h100?"), std::string::npos)
        << error.what();
  }
}

TEST(DeviceFile, KnownOnesCanAllBeRead) {
  const auto names = configs::names_in_config_folder("devices");
  EXPECT_EQ(names, (std::vector<std::string>{"a100-40", "a100-80", "cpu-avx2", "cpu-avx512", "h100",
                                             "h200", "l4", "l40s", "rtx4090"}));
  for (const std::string& name : names) {
    const RatedDevice device = read_device(name);
    EXPECT_EQ(device.name, name);
    EXPECT_EQ(device.kind == DeviceKind::cpu, name.starts_with("cpu")) << name;
  }
}

void expect_same(const DeviceRates& a, const DeviceRates& b) {
  EXPECT_EQ(a.product, b.product);
  EXPECT_EQ(a.convolution, b.convolution);
  EXPECT_EQ(a.recurrence, b.recurrence);
  EXPECT_EQ(a.elementwise, b.elementwise);
  EXPECT_EQ(a.bandwidth, b.bandwidth);
  EXPECT_DOUBLE_EQ(a.launch, b.launch);
  EXPECT_EQ(a.attention, b.attention);
  EXPECT_EQ(a.multiprocessors, b.multiprocessors);
  EXPECT_EQ(a.tile, b.tile);
  EXPECT_EQ(a.slice, b.slice);
  EXPECT_EQ(a.cache_bytes, b.cache_bytes);
  EXPECT_EQ(a.cache_bandwidth, b.cache_bandwidth);
  EXPECT_DOUBLE_EQ(a.time_step, b.time_step);
}

TEST(DeviceFile, DefaultRatesAreThoseOfTwoFiles) {
  for (const DType compute : {DType::f32, DType::f16, DType::bf16})
    for (const Fp32Products products : {Fp32Products::full, Fp32Products::tf32}) {
      const layers::BackendSizes cpu{DeviceKind::cpu, compute, products},
          gpu{DeviceKind::cuda, compute, products};
      expect_same(default_rates(cpu), read_device("cpu-avx2").rates(cpu));
      expect_same(default_rates(gpu), read_device("h100").rates(gpu));
    }
}

/// The device of that name has no end.
TEST(DeviceFile, IsARegularFile) {
  EXPECT_NE(test::message_of<ConfigError>([] {
              (void)read_device("/dev/zero");
            }).find("/dev/zero: no such device file"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
