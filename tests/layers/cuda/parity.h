#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {

/// The same numbers in host memory and on the device. The CPU's copy of f16 or bf16 is f32, so that
/// it holds what the device's numbers are before their last rounding.
struct Twin {
  Tensor cpu;
  Tensor cuda;
};

/// A number format of activations and weights, and of f32 also how the device multiplies it.
struct Format {
  constexpr Format(DType stored, Fp32Products multiplied = Fp32Products::full)
      : dtype(stored), products(multiplied) {}
  DType dtype;
  Fp32Products products;
};
inline constexpr Format kTf32{DType::f32, Fp32Products::tf32};

/// Runs an operation on both backends and compares. Skips where there is no CUDA device.
class Parity : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override;

  DType dtype() const { return GetParam().dtype; }
  /// Seeded uniform numbers in [low, high), rounded to `dtype`.
  Twin random(DType dtype, const Shape& shape, double low = -1, double high = 1);
  /// `values`, rounded to `dtype`.
  Twin twin(DType dtype, const Shape& shape, std::span<const double> values);
  /// NaN everywhere: an operation must write every number.
  Twin unwritten(DType dtype, const Shape& shape);
  /// The operation on either backend, with its device's half of the twins.
  template <class Operation>
  void run(const Operation& on_cpu, const Operation& on_cuda) {
    cpu_->run(*cpu_stream_, on_cpu);
    cuda_->run(*cuda_stream_, on_cuda);
    cuda_->synchronize(*cuda_stream_);
  }

  /// max|cuda - cpu| / max|cpu| ≤ tolerance, with `what` in the message.
  void expect_close(const Twin& twin, double tolerance, const char* what);
  /// Bounds what the order of FP32 sums of products may add. In TF32 an operand has 10 bits after
  /// its first one and is off by 2⁻¹¹ of itself at most, a product of two by 2⁻¹⁰. Errors of terms
  /// have either sign and add up as the terms themselves do, to 2⁻¹⁰ of the largest sum.
  double sum_tolerance() const;
  /// Bounds the errors of results that are rounded to dtype() once: half a unit in the last place
  /// of the largest number besides.
  double tolerance() const;

  std::vector<double> on_device(const Tensor& tensor);
  /// Uninitialised, until the test ends.
  std::span<std::byte> host_memory(std::size_t bytes);
  std::span<std::byte> device_memory(std::size_t bytes);

  std::unique_ptr<Backend> cpu_, cuda_;
  std::unique_ptr<Stream> cpu_stream_, cuda_stream_;

 private:
  std::deque<test::GuardedMemory> host_;
  std::deque<Buffer> device_;
  std::uint64_t seed_ = 1;
};

/// Rows of ragged utterances together, and the edges: one row, rows that fill no tile.
inline constexpr std::int64_t kRows[] = {7 + 1 + 13 + 5, 1, 259};

/// "f32", "f16", "bf16", "tf32" as names of tests.
std::string name_of_parameter(const ::testing::TestParamInfo<Format>& info);

}  // namespace penstock::layers

#define PARITY_OF_ALL_TYPES(fixture)                                                              \
  INSTANTIATE_TEST_SUITE_P(Cuda, fixture, ::testing::Values(DType::f32, DType::f16, DType::bf16), \
                           name_of_parameter)
/// Instantiates the tests of operations that are products, or have some.
#define PARITY_OF_ALL_PRODUCTS(prefix, fixture)                                           \
  INSTANTIATE_TEST_SUITE_P(prefix, fixture,                                               \
                           ::testing::Values(DType::f32, kTf32, DType::f16, DType::bf16), \
                           name_of_parameter)
