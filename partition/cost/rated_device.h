#pragma once

#include <string>

#include "partition/cost/device_rates.h"

namespace penstock::partition {

/// A number for each format in which a device computes.
struct ByFormat {
  double f32 = 0, tf32 = 0, f16 = 0, bf16 = 0;

  double of(const layers::BackendSizes& sizes) const;
};

/// What costs are of, as far as they may be off by themselves.
enum class CostClass { products, convolutions, attention, recurrences, memory, launches };
inline constexpr int kCostClasses = 6;

/// "products", …
const char* name_of(CostClass of);

/// Those rates where what is of that class takes `factor` times as long.
DeviceRates slower(DeviceRates rates, CostClass of, double factor);

/// A kind of device and what it achieves: configs/devices/*.toml.
struct RatedDevice {
  std::string name;
  std::string source = {};  // where its numbers come from, for people
  layers::DeviceKind kind = layers::DeviceKind::cuda;
  double memory_gib = 0;
  double host_bandwidth = 0;  // bytes a second to the host's memory or back; 0: unknown
  ByFormat products = {}, convolutions = {}, attention = {},
           recurrences = {};        // operations a second
  DeviceRates common = {};          // what is the same in all formats
  double error[kCostClasses] = {};  // share by which times of a class may be off, either way

  DeviceRates rates(const layers::BackendSizes& sizes) const;
  /// Where all is `errors` times the given errors slower: 1 the slowest to believe, -1 the fastest.
  DeviceRates rates(const layers::BackendSizes& sizes, double errors) const;
};

}  // namespace penstock::partition
