#include "runtime/profiling/measure_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "layers/initialise.h"
#include "layers/nn/attention.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "layers/nn/recurrence.h"
#include "partition/planner/cost/operation_seconds.h"
#include "runtime/devices/device.h"
#include "runtime/profiling/timed_layer.h"

// Whole layers run, as in training, so a rate includes what libraries really reach. Where the
// planner's formula for a cost has terms (tiles on multiprocessors, a launch, a time step), rates
// are the inverse of that formula: work by the formula divided by measured seconds. Predicting the
// same layer from the rates would give the measured time back, up to the spread of sizes that
// Estimates::error() reports.

namespace penstock::runtime {
namespace {

using layers::DType, layers::Fp32Products;
using partition::CostClass;

constexpr double kMinError = 0.1, kMaxError = 0.9;
constexpr std::size_t kCopied = std::size_t{64} << 20;  // bytes; larger than caches

/// Estimates of one rate from layers of several sizes. Rates multiply rather than add, so means and
/// deviations are those of logarithms: half and twice a rate are equally far from it.
class Estimates {
 public:
  void add(double value) { logs_.push_back(std::log(value)); }
  /// Returns the geometric mean.
  double mean() const {
    double sum = 0;
    for (const double log : logs_) sum += log;
    return std::exp(sum / static_cast<double>(logs_.size()));
  }
  /// Returns the relative deviation of the farthest estimate from the mean, clamped to sensible
  /// values.
  double error() const {
    double max = 0;
    for (const double log : logs_)
      max = std::max(max, std::abs(std::expm1(log - std::log(mean()))));
    return std::clamp(max, kMinError, kMaxError);
  }

 private:
  std::vector<double> logs_;
};

/// Declares `utterances` utterances of `each` frames.
layers::FramesDecl frames(int utterances, std::int64_t each, std::int64_t channels) {
  return {std::vector<std::int64_t>(utterances, each), channels};
}

/// Measures the device in one numeric format. A rate is the counted work of a layer divided by its
/// time without the launch.
class FormatRates {
 public:
  FormatRates(layers::Backend& backend, const layers::BackendSizes& sizes,
              const partition::DeviceRates& known, double min_s)
      : backend_(backend),
        sizes_(sizes),
        known_(known),
        min_s_(min_s),
        large_(backend.kind() != layers::DeviceKind::cpu) {}

  /// Measures matrix products. Work is counted like product_seconds() does, in tiles on
  /// multiprocessors.
  Estimates products() const {
    Estimates rates;
    const std::int64_t max = large_ ? 4096 : 1024;
    for (const auto& [rows, in, out] : {std::array<std::int64_t, 3>{max, max, max},
                                        {max / 2, max / 4, max},
                                        {max / 4, max, max / 2},
                                        {200, max / 2, max / 2}}) {
      const layers::Linear layer({.name = "products", .in = in, .out = out});
      const double seconds = of_work(layer, frames(1, rows, in));
      rates.add(partition::product_seconds(
                    {static_cast<double>(rows), static_cast<double>(out), static_cast<double>(in)},
                    1, known_) /
                seconds);
    }
    return rates;
  }

  /// Measures DeepSpeech2's two convolutions.
  Estimates convolutions() const {
    Estimates rates;
    for (const std::int64_t in : {1, 32}) {
      const std::int64_t frequencies = in == 1 ? 161 : 81, kernel = in == 1 ? 41 : 21;
      const layers::Conv2d layer(
          {.name = "convolutions",
           .in_channels = in,
           .out_channels = 32,
           .in_frequencies = frequencies,
           .frequency = {.kernel = kernel, .stride = 2, .padding = kernel / 2},
           .time = {.kernel = 11, .stride = in == 1 ? 2 : 1, .padding = 5}});
      const auto input = frames(large_ ? 8 : 2, 200, frequencies * in);
      const double cols = 32, inner = static_cast<double>(in * kernel * 11);
      rates.add(partition::product_seconds(
                    {operations(layer, input) / (2 * cols * inner), cols, inner}, 1, known_) /
                of_work(layer, input));
    }
    return rates;
  }

  Estimates attention() const {
    Estimates rates;
    for (const std::int64_t each : {100, 400}) {
      const layers::Attention layer({.name = "attention", .channels = 512, .heads = 8});
      const auto input = frames(large_ ? 16 : 2, each, 3 * 512);
      rates.add(operations(layer, input) / of_work(layer, input));
    }
    return rates;
  }

  /// Returns the seconds of one time step of a recurrence, as the slope between a short and a long
  /// input. The constant cost of the layer cancels.
  double time_step(std::int64_t hidden, int utterances) const {
    const layers::Recurrence layer({.name = "recurrences",
                                    .kind = layers::RecurrenceKind::gru,
                                    .directions = 1,
                                    .hidden = hidden});
    const std::int64_t few = 20, more = 120;
    const double shorter = seconds(layer, frames(utterances, few, 3 * hidden)),
                 longer = seconds(layer, frames(utterances, more, 3 * hidden));
    return (longer - shorter) / static_cast<double>(more - few);
  }
  double step_operations(std::int64_t hidden) const {
    return 2 * 3 * static_cast<double>(hidden * hidden);
  }
  double step_bytes(std::int64_t hidden) const {
    return 3 * static_cast<double>(hidden * hidden * size_of(sizes_.compute));
  }

  double seconds(const layers::Layer& layer, const layers::FramesDecl& input) const {
    return TimedLayer(backend_, layer, sizes_, input).seconds(min_s_);
  }
  /// Returns the seconds of a layer without its launch.
  double of_work(const layers::Layer& layer, const layers::FramesDecl& input) const {
    const double all = seconds(layer, input);
    return std::max(all - known_.launch, all / 2);
  }
  /// True if the device needs large layers to be fully used.
  bool large() const { return large_; }
  double operations(const layers::Layer& layer, const layers::FramesDecl& input) const {
    return layer.plan({sizes_.compute, {input}}, sizes_).flops.forward;
  }

 private:
  layers::Backend& backend_;
  layers::BackendSizes sizes_;
  partition::DeviceRates known_;
  double min_s_;
  bool large_;
};

/// Measures a layer with next to no work, that is, the cost of a launch.
double launch_of(layers::Backend& backend, double min_s) {
  const layers::ClippedReLU layer("launch");
  return TimedLayer(backend, layer, {backend.kind()}, frames(1, 1, 1)).seconds(min_s);
}

/// Measures copies in memory. Bytes are counted as read and as written.
Estimates bandwidth_of(layers::Backend& backend, double min_s) {
  Estimates rates;
  const auto stream = backend.make_stream();
  for (const std::size_t bytes : {kCopied, 2 * kCopied}) {
    const layers::Buffer from = backend.allocate(bytes), to = backend.allocate(bytes);
    fill_with_noise(backend, *stream,
                    {from.data(), DType::f32, {static_cast<std::int64_t>(bytes / sizeof(float))}},
                    1);
    rates.add(2 * static_cast<double>(bytes) /
              lower_quartile_seconds(
                  [&] {
                    backend.copy(*stream, to.data(), from.data(), bytes);
                    backend.synchronize(*stream);
                  },
                  min_s));
  }
  return rates;
}

/// Replaces the rates of a device description by measured ones. Rates that all formats share come
/// first: launch, bandwidth, elementwise. An error is the largest over all formats.
class Measurement {
 public:
  Measurement(const partition::RatedDevice& like, layers::Backend& backend, double min_s)
      : device_(like), like_(like), min_s_(min_s) {
    std::ranges::fill(device_.error, 0);
    for (partition::ByFormat* rates :
         {&device_.products, &device_.convolutions, &device_.attention, &device_.recurrences})
      *rates = {};
    device_.name = "measured";
    device_.source = fmt::format("measured on {}", backend.description());
    device_.common.launch = launch_of(backend, min_s);
    note(CostClass::launches, 0.5);  // a layer's method may launch several kernels
    const Estimates bandwidth = bandwidth_of(backend, min_s);
    device_.common.bandwidth = bandwidth.mean();
    note(CostClass::memory, bandwidth.error());
    const layers::Nonlinearity gelu("elementwise", layers::NonlinearityKind::gelu);
    const FormatRates format(backend, {backend.kind()}, device_.common, min_s);
    const auto cached = frames(1, format.large() ? 4096 : 64, 1024);
    device_.common.elementwise = format.operations(gelu, cached) / format.of_work(gelu, cached);
  }

  void add_format(layers::Backend& backend, const layers::BackendSizes& sizes) {
    const FormatRates format(backend, sizes, device_.common, min_s_);
    set(device_.products, sizes, CostClass::products, format.products());
    set(device_.convolutions, sizes, CostClass::convolutions, format.convolutions());
    set(device_.attention, sizes, CostClass::attention, format.attention());
    add_recurrences(format, sizes);
  }

  const partition::RatedDevice& device() const { return device_; }

 private:
  void note(CostClass of, double error) {
    double& max = device_.error[static_cast<int>(of)];
    max = std::max(max, std::round(100 * error) / 100);
  }

  static double& number(partition::ByFormat& rates, const layers::BackendSizes& sizes) {
    if (sizes.compute == DType::f16) return rates.f16;
    if (sizes.compute == DType::bf16) return rates.bf16;
    return sizes.products == Fp32Products::tf32 ? rates.tf32 : rates.f32;
  }

  void set(partition::ByFormat& rates, const layers::BackendSizes& sizes, CostClass of,
           const Estimates& found) {
    number(rates, sizes) = found.mean();
    note(of, found.error());
  }

  /// Separates three costs of a time step. One utterance with few channels costs the step itself.
  /// With many channels, the excess is reading the weights; with many utterances, it is arithmetic.
  /// A number whose excess is too short to measure stays as in `like`.
  void add_recurrences(const FormatRates& format, const layers::BackendSizes& sizes) {
    partition::DeviceRates& rates = device_.common;
    // A GPU's FP32 kernels spend more time on arithmetic than on reading.
    const bool reads = sizes.compute == (format.large() ? DType::f16 : DType::f32) &&
                       sizes.products == Fp32Products::full;
    const std::int64_t hidden = format.large() ? 1024 : 512;
    if (reads) {
      if (const double step = format.time_step(8, 1); step > 0) rates.time_step = step;
      const double reading = format.time_step(hidden, 1) - rates.time_step;
      if (reading > 0) rates.cache_bandwidth = format.step_bytes(hidden) / reading;
    }
    Estimates arithmetic;
    for (const int utterances : format.large() ? std::array{64, 128} : std::array{16, 32}) {
      const double seconds = format.time_step(hidden, utterances) - rates.time_step;
      arithmetic.add(seconds > 0 ? utterances * format.step_operations(hidden) / seconds
                                 : like_.recurrences.of(sizes));
    }
    set(device_.recurrences, sizes, CostClass::recurrences, arithmetic);
  }

  partition::RatedDevice device_;
  partition::RatedDevice like_;
  double min_s_;
};

}  // namespace

partition::RatedDevice measure_device(const configs::TrainerConfig& device,
                                      const partition::RatedDevice& like, double min_s) {
  const auto backend = make_backend(device);
  const layers::DeviceKind kind = backend->kind();
  Measurement measurement(like, *backend, min_s);
  // Rates that all formats share are measured in the first format, which is f32 on CPUs.
  const std::array<DType, 3> formats = kind == layers::DeviceKind::cpu
                                           ? std::array{DType::f32, DType::f16, DType::bf16}
                                           : std::array{DType::f16, DType::bf16, DType::f32};
  for (const DType compute : formats) measurement.add_format(*backend, {kind, compute});
  if (kind == layers::DeviceKind::cuda)
    measurement.add_format(*make_backend(device, {.compute = "tf32"}),
                           {kind, DType::f32, Fp32Products::tf32});
  return measurement.device();
}

}  // namespace penstock::runtime
