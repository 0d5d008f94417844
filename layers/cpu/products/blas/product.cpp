#include "layers/cpu/products/product.h"

#include <cblas.h>
#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include <string>

#include "base/error.h"
#include "layers/cpu/products/blas/held_signals.h"

namespace penstock::layers {
namespace {

// Returns true if OpenBLAS is faster than oneDNN for this shape. Measured in GFLOP/s on one thread,
// first OpenBLAS 0.3.21, then oneDNN 2.6.3. On Zen 3:
//   x·W^T and dy·W, 1 row 5 and 27, 8 rows 42 and 56–85, 64 rows 73 and 90, 1200 rows 84 and 92;
//   dy^T·x, 1536 × 256 over 1200 rows 88 and 66, 4096 × 1024 93 and 86, 29 × 256 66 and 91.
// On Zen 4 with AVX-512 the peak is 117, of which oneDNN reaches 100 to 109 for x·W^T and dy·W:
//   dy^T·x, 512 × 512 over 1200 rows 96 and 102, 144 × 576 over 600 103 and 114; 64 × 64 over 64
//   112 and 99. If rows of dy are whole pages apart, both lose: 1024 × 256 over 300 88 and 91.
bool openblas_is_faster(const Product<float>& p) {
  if (!p.a.transposed || p.m < 64) return false;
  const bool small = p.n <= 64 && p.k <= 64, pages_apart = p.a.stride % 1024 == 0;
  return !__builtin_cpu_supports("avx512f") || small || pages_apart;
}

CBLAS_TRANSPOSE blas_form(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

}  // namespace

// Multiplies with signals held. OpenMP starts its threads inside products, and they keep the signal
// mask that they start with. An OpenBLAS that uses OpenMP may start them too.
void run_product(const Product<float>& p) {
  if (p.m == 0 || p.n == 0) return;
  const HeldSignals held;
  if (openblas_is_faster(p)) {
    cblas_sgemm(CblasRowMajor, blas_form(p.a.transposed), blas_form(p.b.transposed), p.m, p.n, p.k,
                p.alpha, p.a.data, p.a.stride, p.b.data, p.b.stride, p.beta, p.c, p.c_stride);
    return;
  }
  // oneDNN takes the number of threads from OpenMP, which keeps one for each calling thread. On a
  // thread that never set it, a product would take every core.
  omp_set_num_threads(openblas_get_num_threads());
  const dnnl_status_t status =
      dnnl_sgemm(p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N', p.m, p.n, p.k, p.alpha,
                 p.a.data, p.a.stride, p.b.data, p.b.stride, p.beta, p.c, p.c_stride);
  if (status != dnnl_success)
    throw DeviceError(fmt::format("oneDNN refused a product of {0} × {1} by {1} × {2}: status {3}",
                                  p.m, p.k, p.n, static_cast<int>(status)));
}

void run_product(const Product<double>& p) {
  const HeldSignals held;
  cblas_dgemm(CblasRowMajor, blas_form(p.a.transposed), blas_form(p.b.transposed), p.m, p.n, p.k,
              p.alpha, p.a.data, p.a.stride, p.b.data, p.b.stride, p.beta, p.c, p.c_stride);
}

// OpenBLAS keeps the number for the process, and run_product() passes it on to oneDNN.
void set_product_threads(int threads) { openblas_set_num_threads(threads); }

}  // namespace penstock::layers
