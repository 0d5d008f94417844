#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Converts through float, which holds every f16 and bf16 number. So a number is rounded once, when
/// it is stored.
struct Same {
  __device__ float operator()(const Cell&, float x) const { return x; }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const Cast& op) {
  cuda::with_type_of(op.from, "Cast", [&]<class From>(From) {
    cuda::with_type_of(op.to, "Cast", [&]<class To>(To) {
      cuda::map(static_cast<CudaStream&>(stream).handle(), cuda::flat(op.from.size()), cuda::Same{},
                cuda::rows_to<To>(op.to), cuda::rows_of<From>(op.from));
    });
  });
}

}  // namespace penstock::layers
