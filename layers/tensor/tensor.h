#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layers/tensor/dtype.h"

namespace penstock::layers {

/// Sizes of a tensor, outermost first; {} is one number.
using Shape = std::vector<std::int64_t>;

/// Returns the product of the sizes. ShapeError if a size is negative or the product overflows.
std::int64_t element_count(const Shape& shape);

/// Alignment of every tensor, in bytes. Vectorised sums depend on alignment, and equal runs must
/// give equal bits.
inline constexpr std::size_t kAlignment = 64;

/// Returns `bytes`, rounded up to kAlignment.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A view of numbers in row-major order without gaps. It owns nothing; see Buffer.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t size() const { return element_count(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype); }

  /// Returns the numbers as T. ShapeError if `dtype` is another.
  template <class T>
  T* as() const {
    if (DTypeOf<T>::value != dtype) throw_other_dtype(DTypeOf<T>::value);
    return static_cast<T*>(data);
  }

 private:
  [[noreturn]] void throw_other_dtype(DType wanted) const;
};

}  // namespace penstock::layers
