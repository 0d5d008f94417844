#pragma once

#include <cublasLt.h>

#include <compare>
#include <map>
#include <memory>

#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/libraries.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers::cuda {

/// How a matrix lies in memory: row after row, `lead` elements from one to the next; of a batch
/// each matrix `stride` elements behind the last.
struct MatrixShape {
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, lead = 0, stride = 0;
  int alignment = 16;  // of its address, in bytes, at most 16

  auto operator<=>(const MatrixShape&) const = default;
};

struct Matrix : MatrixShape {
  Matrix(const Tensor& tensor);  // NOLINT: a tensor of two dimensions is such a matrix
  /// `rows` × `columns` numbers that start at number `first` of `tensor`.
  Matrix(const Tensor& tensor, std::int64_t first, std::int64_t rows, std::int64_t columns,
         std::int64_t lead);

  Matrix each(std::int64_t elements) const;  // the same, as the first of a batch with that stride

  void* data = nullptr;
};

/// d = a · b, or d += a · b: matrices are given as stored, a or b is transposed first where it says
/// so. f32, or f16 or bf16 with sums in FP32; `d` may then be f32. The rows of `a` are frames, of
/// which every micro-batch has another number.
struct Product {
  Matrix a, b, d;
  bool transpose_a = false, transpose_b = false;
  bool accumulate = false;
  const Tensor* bias = nullptr;  // one for each column of d, added to every row; as d's
                                 // dtype, of a single product that does not accumulate
  int batch = 1;                 // so many products of this shape
};

class ProductPlan;

/// cuBLASLt, with the first algorithm of its heuristic: no timing, so that equal shapes give equal
/// bits. The heuristic is asked once for a bucket of rows, and again for rows that none of the
/// bucket's algorithms takes. Where it has none with a bias, a kernel of ours adds that; where it
/// has none at all, a kernel multiplies. FP32 is multiplied as the object was told to; its plans
/// are of that alone.
class Products {
 public:
  explicit Products(Fp32Products of_fp32);
  ~Products();
  /// DeviceError naming shapes and dtypes where the library fails.
  void run(CudaStream& stream, const Product& product);

 private:
  /// All that the choice of an algorithm depends on, for the end of a bucket or the rows
  /// themselves.
  struct Key {
    explicit Key(const Product& product);
    MatrixShape a, b, d;
    bool transpose_a, transpose_b, bias;
    int batch;
    auto operator<=>(const Key&) const = default;
  };

  ProductPlan& planned(const Product& product);
  /// With an algorithm that holds for the product; null where the library has none.
  ProductPlan* plan_for(const Product& product);

  Fp32Products of_fp32_;
  CublasLt library_;
  std::map<Key, std::unique_ptr<ProductPlan>> plans_;  // recurrences ask for the same few again
};

}  // namespace penstock::layers::cuda
