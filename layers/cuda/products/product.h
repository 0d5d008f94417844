#pragma once

#include <cublasLt.h>

#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/libraries.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers::cuda {

/// Layout of a matrix in memory: row after row, which start `lead` elements apart. The matrices of
/// a batch start `stride` elements apart.
struct MatrixShape {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, lead = 0, stride = 0;
  int alignment = 16;  // of its address in bytes, at most 16

  auto operator<=>(const MatrixShape&) const = default;
};

struct Matrix : MatrixShape {
  Matrix(const Tensor& tensor);  // NOLINT: a tensor of two dimensions is such a matrix
  /// `rows` × `columns` numbers that start at number `first` of `tensor`.
  Matrix(const Tensor& tensor, std::int64_t first, std::int64_t rows, std::int64_t columns,
         std::int64_t lead);

  /// Returns this matrix as the first of a batch, whose matrices start `elements` elements apart.
  Matrix each(std::int64_t elements) const;

  void* data = nullptr;
};

/// The product d = a · b, or d += a · b. Matrices are given as stored; a or b is transposed first
/// if its flag says so. Dtypes are f32, or f16 or bf16 with sums in FP32, and then `d` may also be
/// f32. Rows of `a` are frames, whose number differs between micro-batches.
struct Product {
  Matrix a, b, d;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  /// One number for each column of d, added to every row, in d's dtype. Only a single product that
  /// does not accumulate may have a bias.
  const Tensor* bias = nullptr;
  int batch = 1;  // number of products of this shape
};

class ProductPlan;

/// Multiplies by cuBLASLt with the first algorithm of its heuristic. Nothing is timed, so that
/// equal shapes give equal bits.
///
/// The heuristic is asked once for each bucket of rows, and again for rows that none of the
/// bucket's algorithms fits. If no algorithm adds a bias, a kernel of ours writes it. If there is
/// no algorithm at all, a kernel of ours multiplies. The constructor says how FP32 is multiplied,
/// and cached plans hold for that alone.
class Products {
 public:
  explicit Products(Fp32Products of_fp32);
  ~Products();
  /// Throws DeviceError with shapes and dtypes if cuBLASLt fails.
  void run(CudaStream& stream, const Product& product);

 private:
  /// Everything on which the choice of an algorithm depends, for the bucket's end or the rows
  /// themselves.
  struct Key {
    explicit Key(const Product& product);
    MatrixShape a, b, d;
    bool transpose_a, transpose_b, bias;
    int batch;
    auto operator<=>(const Key&) const = default;
  };

  ProductPlan& planned(const Product& product);
  /// Returns a plan whose chosen algorithm fits the product, or null if cuBLASLt has none.
  ProductPlan* plan_for(const Product& product);

  Fp32Products of_fp32_;
  CublasLt library_;
  std::map<Key, std::unique_ptr<ProductPlan>> plans_;  // a cache: recurrences repeat the same few
};

/// Writes the product's bias into every row of its d.
void spread_bias(CudaStream& stream, const Product& product);

/// Multiplies by a kernel of our own, for products that cuBLASLt has no algorithm for. It takes any
/// layout, with one thread for each number of d. Sums are FP32 in the order of the inner dimension,
/// and are rounded once, with the bias.
void multiply_directly(CudaStream& stream, const Product& product);

/// Returns the end of the bucket of row counts that `rows` ≥ 0 falls into: at least `rows`, and at
/// most an eighth more. There are eight buckets between two powers of two. What is chosen once for
/// a bucket depends on its end alone, and not on which of its row counts came first.
constexpr std::int64_t bucket_of(std::int64_t rows) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  const std::int64_t step = std::int64_t{1} << (bits > 4 ? bits - 4 : 0);
  return (rows + step - 1) / step * step;
}

}  // namespace penstock::layers::cuda
