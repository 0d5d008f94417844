#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/tensor/buffer.h"
#include "layers/tensor/tensor.h"

namespace penstock::test {

/// Host memory of exactly `bytes`, with a pattern after it that shows writes beyond the end.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes = 0);

  std::byte* data() const { return buffer_.data(); }
  std::span<std::byte> bytes() const { return {buffer_.data(), bytes_}; }
  /// Sets every byte so that all floating-point formats read NaN and integers read -1.
  void poison();
  /// std::logic_error naming `what` if something wrote beyond the end.
  void check(const char* what) const;

 private:
  std::size_t bytes_;
  layers::Buffer buffer_;
};

/// The numbers of a tensor of any dtype.
std::vector<double> numbers(const layers::Tensor& tensor);

/// Writes `values`, rounded to the tensor's dtype. std::logic_error if the count differs.
void assign(const layers::Tensor& tensor, std::span<const double> values);

/// Uniform random numbers in [low, high) that are float32 values, so that FP32 and FP64 runs agree.
std::vector<double> uniform(std::int64_t count, std::uint64_t seed, double low = -1,
                            double high = 1);

/// max|a-b| / max|b|; max|a| where b is zero or empty; infinite if sizes differ or a number is NaN.
double relative_error(std::span<const double> a, std::span<const double> b);

}  // namespace penstock::test
