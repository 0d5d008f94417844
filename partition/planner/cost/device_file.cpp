#include "partition/planner/cost/device_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/name_match.h"
#include "configs/config_folder.h"
#include "configs/source.h"

// A device file has one section for each class of cost, after [device]. Rates have the units of
// data sheets, and each class has the relative error of its times:
//
//   [device]        backend, memory_gib, multiprocessors, source
//   [products]      f32, tf32, f16, bf16 in TFLOP/s; tile, slice; error
//   [convolutions]  f32, tf32, f16, bf16; error
//   [attention]     f32, tf32, f16, bf16; error
//   [recurrences]   f32, tf32, f16, bf16; cache_mb, cache_gb_per_s, time_step_us; error
//   [memory]        gb_per_s, host_gb_per_s, elementwise_tflop_per_s; error
//   [launches]      us; error
//
// The reader lists all numbers in one table first, with their units and ranges. Reading, missing
// keys and the hints at misspelt ones follow from that table.

namespace penstock::partition {
namespace {

using configs::Setting;

/// A NumberKey says where a number of the file is stored, and which values it may have.
struct NumberKey {
  std::string key;
  double* at = nullptr;
  double unit = 1;
  /// The value is at most `max` and at least `min`. If `min` is 0, only an error may be 0.
  double min = 0, max = HUGE_VAL;
  bool required = true, whole = false;
};

/// DeviceReader reads one file into `device_`, to which the entries of `numbers_` point. So it must
/// not be copied.
class DeviceReader {
 public:
  explicit DeviceReader(std::string name) : file_(std::move(name)) {
    device_.name = std::filesystem::path(file_).stem().string();
    formats("products", CostClass::products, device_.products);
    formats("convolutions", CostClass::convolutions, device_.convolutions);
    formats("attention", CostClass::attention, device_.attention);
    formats("recurrences", CostClass::recurrences, device_.recurrences);
    DeviceRates& rates = device_.common;
    required("device.memory_gib", device_.memory_gib);
    whole("device.multiprocessors", multiprocessors_);
    whole("products.tile", tile_);
    whole("products.slice", slice_);
    required("recurrences.cache_mb", rates.cache_bytes, 1e6);
    required("recurrences.cache_gb_per_s", rates.cache_bandwidth, 1e9);
    required("recurrences.time_step_us", rates.time_step, 1e-6);
    required("memory.gb_per_s", rates.bandwidth, 1e9);
    numbers_.push_back({.key = "memory.host_gb_per_s",
                        .at = &device_.host_bandwidth,
                        .unit = 1e9,
                        .required = false});
    required("memory.elementwise_tflop_per_s", rates.elementwise, 1e12);
    error("memory", CostClass::memory);
    required("launches.us", rates.launch, 1e-6);
    error("launches", CostClass::launches);
  }

  RatedDevice read(const std::string& text) {
    const auto settings = configs::settings_of_toml(text, file_, faults_);
    for (const Setting& setting : settings) take(setting);
    for (const NumberKey& number : numbers_)
      if (number.required && !given(settings, number.key))
        faults_.push_back(fmt::format("{}: {} is missing", file_, number.key));
    for (const char* key : {"device.backend", "device.source"})
      if (!given(settings, key)) faults_.push_back(fmt::format("{}: {} is missing", file_, key));
    if (!faults_.empty())
      throw ConfigError(fmt::format("the device can't be used:\n  {}", fmt::join(faults_, "\n  ")));
    return finished();
  }

 private:
  void required(const char* key, double& at, double unit = 1) {
    numbers_.push_back({.key = key, .at = &at, .unit = unit});
  }
  void whole(const char* key, double& at) {
    numbers_.push_back(
        {.key = key, .at = &at, .min = 1, .max = 1 << 20, .required = false, .whole = true});
  }
  /// Adds the key of a class's error. The fastest plausible device takes 1 - error of the time,
  /// which must stay above 0.
  void error(const std::string& section, CostClass of) {
    numbers_.push_back(
        {.key = section + ".error", .at = &device_.error[static_cast<int>(of)], .max = 0.9});
  }
  /// Adds the keys of a section with one rate per number format. Only f32 is required: finished()
  /// uses it for formats that are not given.
  void formats(const std::string& section, CostClass of, ByFormat& rates) {
    numbers_.push_back({.key = section + ".f32", .at = &rates.f32, .unit = 1e12});
    for (const auto& [format, at] :
         {std::pair{".tf32", &rates.tf32}, {".f16", &rates.f16}, {".bf16", &rates.bf16}})
      numbers_.push_back({.key = section + format, .at = at, .unit = 1e12, .required = false});
    error(section, of);
  }

  static bool given(const std::vector<Setting>& settings, const std::string& key) {
    return std::ranges::count(settings, key, &Setting::key) > 0;
  }

  void take(const Setting& setting) {
    if (setting.key == "device.source") {
      device_.source = setting.text;
    } else if (setting.key == "device.backend") {
      if (setting.text != "cpu" && setting.text != "cuda")
        fault(setting, "it takes \"cpu\" or \"cuda\"");
      if (setting.text == "cpu") device_.kind = layers::DeviceKind::cpu;
    } else if (const auto key = std::ranges::find(numbers_, setting.key, &NumberKey::key);
               key != numbers_.end()) {
      take(setting, *key);
    } else {
      unknown(setting);
    }
  }

  void take(const Setting& setting, const NumberKey& key) {
    const bool number = setting.kind == Setting::Kind::whole ||
                        (setting.kind == Setting::Kind::number && !key.whole);
    const double value = number ? std::strtod(setting.text.c_str(), nullptr) : NAN;
    const bool is_error = key.key.ends_with(".error");
    const bool enough = is_error || key.min > 0 ? value >= key.min : value > 0;
    if (number && enough && value <= key.max && std::isfinite(value)) {
      *key.at = value * key.unit;
    } else if (std::isfinite(key.max)) {
      fault(setting, fmt::format("it takes a {}number from {} to {}", key.whole ? "whole " : "",
                                 key.min, key.max));
    } else {
      fault(setting, "it takes a number above 0");
    }
  }

  void unknown(const Setting& setting) {
    std::vector<std::string_view> names{"device.backend", "device.source"};
    for (const NumberKey& number : numbers_) names.push_back(number.key);
    const std::string near = nearest(setting.key, names);
    faults_.push_back(fmt::format("{}: unknown key {}{}", setting.where, setting.key,
                                  near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }

  void fault(const Setting& setting, const std::string& what) {
    faults_.push_back(
        fmt::format("{}: {} = {}, but {}", setting.where, setting.key, setting.shown, what));
  }

  /// Fills in what the file leaves out. A format without a rate is computed as fast as FP32, which
  /// holds where no tensor cores exist.
  RatedDevice finished() {
    for (ByFormat* rates :
         {&device_.products, &device_.convolutions, &device_.attention, &device_.recurrences})
      for (double* rate : {&rates->tf32, &rates->f16, &rates->bf16})
        if (*rate == 0) *rate = rates->f32;
    device_.common.multiprocessors = static_cast<int>(multiprocessors_);
    device_.common.tile = static_cast<int>(tile_);
    device_.common.slice = static_cast<int>(slice_);
    return device_;
  }

  std::string file_;
  RatedDevice device_;
  double multiprocessors_ = 1, tile_ = 1, slice_ = 256;
  std::vector<NumberKey> numbers_;
  std::vector<std::string> faults_;
};

}  // namespace

RatedDevice parse_device(const std::string& text, const std::string& name) {
  return DeviceReader(name).read(text);
}

// A path comes first: a file in the working folder replaces a known device of the same name. The
// path may stand in a cluster file from anyone, and reading /dev/zero would fill the memory.
RatedDevice read_device(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error))
    if (const auto text = configs::file_text(file)) return parse_device(*text, file.string());
  auto known = configs::config_folder() / "devices" / file;
  known += ".toml";
  if (const auto text = configs::file_text(known)) return parse_device(*text, known.string());
  const auto names = configs::names_in_config_folder("devices");
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest(file.string(), views);
  throw ConfigError(fmt::format(
      "{}: no such device file, or it can't be read{}; known by name are {}", file.string(),
      near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")));
}

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
