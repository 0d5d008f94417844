// Products that others measured with PyTorch, which calls cuBLAS, against what device files say. No
// number of the files was fitted to these. From github.com/zzc0721/torch-performance-test-data,
// issues 79 (H100 80GB HBM3), 108 (A100-PCIE-40GB), 120 (L4) and 78 (GeForce RTX 4090): TFLOP/s of
// square products.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/averages.h"
#include "partition/planner/cost/device_file.h"
#include "partition/planner/cost/operation_seconds.h"

namespace penstock::partition {
namespace {

using layers::DeviceKind, layers::DType, layers::Fp32Products;

constexpr std::array<double, 5> kSizes{1024, 2048, 4096, 8192, 10240};

struct Published {
  const char* device;
  const char* format;
  std::array<double, 5> tflops;
};

constexpr Published kPublished[] = {
    {"h100", "f32", {37.39, 49.58, 51.88, 51.81, 49.61}},
    {"h100", "tf32", {119.60, 334.99, 402.15, 372.05, 376.66}},
    {"h100", "f16", {179.13, 645.12, 760.04, 736.19, 668.42}},
    {"h100", "bf16", {176.62, 676.59, 788.72, 797.51, 719.72}},
    {"a100-40", "f32", {8.99, 9.69, 15.52, 17.56, 16.67}},
    {"a100-40", "tf32", {61.02, 90.82, 108.32, 97.32, 102.05}},
    {"a100-40", "f16", {83.66, 214.73, 241.49, 197.51, 205.66}},
    {"a100-40", "bf16", {94.89, 138.46, 234.14, 215.26, 211.72}},
    {"l4", "f32", {12.87, 15.38, 12.53, 10.66, 11.11}},
    {"l4", "tf32", {14.21, 31.88, 24.00, 25.69, 26.17}},
    {"l4", "f16", {54.81, 68.83, 53.02, 53.80, 52.47}},
    {"l4", "bf16", {54.42, 70.89, 54.91, 59.40, 56.90}},
    {"rtx4090", "f32", {45.89, 53.84, 53.02, 53.41, 51.43}},
    {"rtx4090", "tf32", {59.47, 69.24, 84.44, 85.65, 84.50}},
    {"rtx4090", "f16", {106.10, 159.38, 168.38, 155.50, 156.88}},
    {"rtx4090", "bf16", {126.84, 164.81, 151.50, 160.17, 158.54}},
};

layers::BackendSizes sizes_of(const std::string& format) {
  if (format == "f16") return {DeviceKind::cuda, DType::f16};
  if (format == "bf16") return {DeviceKind::cuda, DType::bf16};
  return {DeviceKind::cuda, DType::f32, format == "tf32" ? Fp32Products::tf32 : Fp32Products::full};
}

/// How much shorter the device file says that the product is, as a share; below 0: longer.
double error_of(const Published& published, std::size_t i) {
  const layers::BackendSizes sizes = sizes_of(published.format);
  const DeviceRates rates = read_device(published.device).rates(sizes);
  const double n = kSizes[i];
  const double bytes = 3 * n * n * static_cast<double>(size_of(sizes.compute));
  constexpr double launch = 5e-6;  // of one kernel; a method of penstock's starts several
  const double seconds =
      launch + std::max(product_seconds({n, n, n}, rates.product, rates), bytes / rates.bandwidth);
  return 2 * n * n * n / seconds / (published.tflops[i] * 1e12) - 1;
}

TEST(PublishedProducts, AreMetWithinATenthInTheMedian) {
  std::vector<double> all, large;
  for (const Published& published : kPublished)
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      all.push_back(std::abs(error_of(published, i)));
      if (kSizes[i] >= 4096) large.push_back(all.back());
    }
  EXPECT_LT(median(all), 0.1);
  EXPECT_LT(median(large), 0.085);
  EXPECT_LT(*std::ranges::max_element(large), 0.27);
  EXPECT_LT(*std::ranges::max_element(all), 0.6);
}

/// A rate alone, without tiles and launches, is farther off, and most of all where products are
/// small.
TEST(PublishedProducts, AreMetBetterThanByARateAlone) {
  std::vector<double> with, without;
  for (const Published& published : kPublished) {
    with.push_back(std::abs(error_of(published, 0)));
    const double rate = read_device(published.device).rates(sizes_of(published.format)).product;
    without.push_back(std::abs(rate / (published.tflops[0] * 1e12) - 1));
  }
  EXPECT_LT(median(with), median(without));
}

}  // namespace
}  // namespace penstock::partition
