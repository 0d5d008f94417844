#include "partition/planner/cost/write_device.h"

#include <fmt/format.h>

namespace penstock::partition {
namespace {

/// Formats a section with one rate for each number format. A rate that is missing or equal to that
/// of FP32 is left out: reading the file fills it in.
std::string section(const char* name, const ByFormat& rates, double error,
                    const std::string& more = {}) {
  const auto tflops = [](double rate) { return fmt::format("{:.4g}", 1e-12 * rate); };
  std::string text = fmt::format("\n[{}]  # TFLOP/s\nf32 = {}\n", name, tflops(rates.f32));
  for (const auto& [format, rate] :
       {std::pair{"tf32", rates.tf32}, {"f16", rates.f16}, {"bf16", rates.bf16}})
    if (rate > 0 && rate != rates.f32) text += fmt::format("{} = {}\n", format, tflops(rate));
  return text + more + fmt::format("error = {:.4g}\n", error);
}

/// Quotes text as a basic string of TOML.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

}  // namespace

std::string device_toml(const RatedDevice& device) {
  const auto error = [&](CostClass of) { return device.error[static_cast<int>(of)]; };
  const DeviceRates& rates = device.common;
  std::string text = fmt::format(
      "[device]\nbackend = \"{}\"\nmemory_gib = {:.4g}\nmultiprocessors = {}\nsource = {}\n",
      device.kind == layers::DeviceKind::cpu ? "cpu" : "cuda", device.memory_gib,
      rates.multiprocessors, quoted(device.source));
  text += section("products", device.products, error(CostClass::products),
                  fmt::format("tile = {}\nslice = {}\n", rates.tile, rates.slice));
  text += section("convolutions", device.convolutions, error(CostClass::convolutions));
  text += section("attention", device.attention, error(CostClass::attention));
  text += section(
      "recurrences", device.recurrences, error(CostClass::recurrences),
      fmt::format("cache_mb = {:.4g}\ncache_gb_per_s = {:.4g}\ntime_step_us = {:.4g}\n",
                  1e-6 * rates.cache_bytes, 1e-9 * rates.cache_bandwidth, 1e6 * rates.time_step));
  const std::string host = device.host_bandwidth > 0 ? fmt::format("host_gb_per_s = {:.4g}\n",
                                                                   1e-9 * device.host_bandwidth)
                                                     : "";
  text += fmt::format(
      "\n[memory]\ngb_per_s = {:.4g}\n{}elementwise_tflop_per_s = {:.4g}\n"
      "error = {:.4g}\n",
      1e-9 * rates.bandwidth, host, 1e-12 * rates.elementwise, error(CostClass::memory));
  return text + fmt::format("\n[launches]\nus = {:.4g}\nerror = {:.4g}\n", 1e6 * rates.launch,
                            error(CostClass::launches));
}

}  // namespace penstock::partition
