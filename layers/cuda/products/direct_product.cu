#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {
namespace {

/// Strides, in numbers, between the rows, columns and matrices of a batch.
struct Steps2d {
  Steps2d(const Matrix& matrix, bool transpose)
      : row(transpose ? 1 : matrix.lead),
        column(transpose ? matrix.lead : 1),
        matrix(matrix.stride) {}
  std::int64_t row, column, matrix;
};

/// Holds the sizes of d = op(a) · op(b). A transposition only swaps strides, so the kernel need not
/// know of it.
struct ProductSizes {
  explicit ProductSizes(const Product& p)
      : rows(p.d.rows),
        columns(p.d.columns),
        inner(p.transpose_a ? p.a.rows : p.a.columns),
        batch(p.batch),
        a(p.a, p.transpose_a),
        b(p.b, p.transpose_b),
        d(p.d, false) {}
  std::int64_t rows, columns, inner, batch;
  Steps2d a, b, d;
};

/// Computes one number of d per thread. `bias` has one number for each column, or is null.
template <class T, class D>
__global__ void multiply_each(const T* a, const T* b, D* d, const D* bias, ProductSizes sizes,
                              bool accumulate) {
  const std::int64_t i = grid_thread();
  if (i >= sizes.batch * sizes.rows * sizes.columns) return;
  const std::int64_t column = i % sizes.columns, row = i / sizes.columns % sizes.rows,
                     matrix = i / (sizes.columns * sizes.rows);
  const T* const of_a = a + matrix * sizes.a.matrix + row * sizes.a.row;
  const T* const of_b = b + matrix * sizes.b.matrix + column * sizes.b.column;
  float sum = 0;
  for (std::int64_t k = 0; k < sizes.inner; ++k)
    sum += to_float(of_a[k * sizes.a.column]) * to_float(of_b[k * sizes.b.row]);
  D& result = d[matrix * sizes.d.matrix + row * sizes.d.row + column];
  if (accumulate) sum += to_float(result);
  if (bias != nullptr) sum += to_float(bias[column]);
  result = from_float<D>(sum);
}

template <class T, class D>
void multiply_into(CudaStream& stream, const Product& p) {
  const D* const bias = p.bias == nullptr ? nullptr : data_of<D>(*p.bias);
  launch(stream.handle(), grid_over(p.batch * p.d.rows * p.d.columns), multiply_each<T, D>,
         static_cast<const T*>(p.a.data), static_cast<const T*>(p.b.data),
         static_cast<D*>(p.d.data), bias, ProductSizes(p), p.accumulate);
}

}  // namespace

void multiply_directly(CudaStream& stream, const Product& product) {
  with_type_of({product.a.data, product.a.dtype, {}}, "a product", [&]<class T>(T) {
    if (product.d.dtype == DType::f32)
      multiply_into<T, float>(stream, product);
    else
      multiply_into<T, T>(stream, product);
  });
}

}  // namespace penstock::layers::cuda
