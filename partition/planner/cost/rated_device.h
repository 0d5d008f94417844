#pragma once

#include <string>

#include "partition/planner/cost/device_rates.h"

namespace penstock::partition {

/// One number for each format in which a device computes.
struct ByFormat {
  double f32 = 0, tf32 = 0, f16 = 0, bf16 = 0;

  double of(const layers::BackendSizes& sizes) const;
};

/// The classes of cost that may have errors of their own.
enum class CostClass { products, convolutions, attention, recurrences, memory, launches };
inline constexpr int kCostClasses = 6;

/// Returns "products", …
const char* name_of(CostClass of);

/// Returns rates with which work of that class takes `factor` times as long.
DeviceRates slower(DeviceRates rates, CostClass of, double factor);

/// A RatedDevice is a kind of device with its rates, as configs/devices/*.toml holds them.
struct RatedDevice {
  std::string name;
  std::string source = {};  // where its numbers come from, for readers
  layers::DeviceKind kind = layers::DeviceKind::cuda;
  double memory_gib = 0;
  /// Bytes per second to or from host memory; 0: unknown.
  double host_bandwidth = 0;
  ByFormat products = {}, convolutions = {}, attention = {},
           recurrences = {};  // operations per second
  DeviceRates common = {};    // rates that are the same in all formats
  /// Relative error of the times of each class, in either direction.
  double error[kCostClasses] = {};

  DeviceRates rates(const layers::BackendSizes& sizes) const;
  /// Returns rates with which everything is slower by `errors` times its error: 1 is the slowest
  /// plausible device, -1 the fastest.
  DeviceRates rates(const layers::BackendSizes& sizes, double errors) const;
};

}  // namespace penstock::partition
