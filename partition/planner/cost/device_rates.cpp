#include "partition/planner/cost/device_rates.h"

namespace penstock::partition {
namespace {

/// Picks the rate of the format in use. On an H100, tensor cores multiply TF32 at half the speed of
/// half precision, and do not multiply FP32.
double by_format(const layers::BackendSizes& sizes, double f32, double tf32, double halves) {
  if (layers::size_of(sizes.compute) <= 2) return halves;
  return sizes.products == layers::Fp32Products::tf32 ? tf32 : f32;
}

/// Picks between the 16-bit formats, whose rates differ for convolutions alone.
double halves(const layers::BackendSizes& sizes, double f16, double bf16) {
  return sizes.compute == layers::DType::f16 ? f16 : bf16;
}

}  // namespace

DeviceRates default_rates(const layers::BackendSizes& sizes) {
  // A CPU keeps one multiprocessor and tiles of one number: a product then takes its operations at
  // the rate, whatever its shape.
  if (sizes.device == layers::DeviceKind::cpu) {
    return {.product = 70e9,
            .convolution = 500e9,
            .recurrence = 40e9,
            .elementwise = 4e9,
            .bandwidth = 8e9,
            .launch = 1e-6,
            .attention = 70e9,
            .cache_bytes = 16e6,
            .cache_bandwidth = 40e9,
            .time_step = 1e-6};
  }
  return {.product = by_format(sizes, 45e12, 350e12, 700e12),
          .convolution = by_format(sizes, 59e12, 113e12, halves(sizes, 221e12, 193e12)),
          .recurrence = by_format(sizes, 22e12, 58e12, 110e12),
          .elementwise = 4.8e12,
          .bandwidth = 2.6e12,
          .launch = 10.5e-6,
          .attention = by_format(sizes, 2.3e12, 2.4e12, 34e12),
          .multiprocessors = 132,
          .tile = 128,
          .slice = 256,
          .cache_bytes = 50e6,
          .cache_bandwidth = 5.4e12,
          .time_step = 3.7e-6};
}

}  // namespace penstock::partition
