#include "layers/cpu/products/product.h"

#include <Eigen/Core>

namespace penstock::layers {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Returns the factor as it is stored; op() may be its transpose.
template <class T>
auto stored(const Factor<T>& factor, std::int64_t rows, std::int64_t columns) {
  if (factor.transposed) std::swap(rows, columns);
  return Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>(
      factor.data, rows, columns, Eigen::OuterStride<>(factor.stride));
}

template <class T>
void product(const Product<T>& p) {
  Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>> c(p.c, p.m, p.n,
                                                     Eigen::OuterStride<>(p.c_stride));
  if (p.beta == T(0))
    c.setZero();
  else if (p.beta != T(1))
    c *= p.beta;
  const auto a = stored(p.a, p.m, p.k), b = stored(p.b, p.k, p.n);
  if (p.a.transposed && p.b.transposed)
    c.noalias() += p.alpha * (a.transpose() * b.transpose());
  else if (p.a.transposed)
    c.noalias() += p.alpha * (a.transpose() * b);
  else if (p.b.transposed)
    c.noalias() += p.alpha * (a * b.transpose());
  else
    c.noalias() += p.alpha * (a * b);
}

}  // namespace

void run_product(const Product<float>& p) { product(p); }
void run_product(const Product<double>& p) { product(p); }

// Eigen is compiled without OpenMP, and computes on the calling thread alone.
void set_product_threads(int) {}

}  // namespace penstock::layers
