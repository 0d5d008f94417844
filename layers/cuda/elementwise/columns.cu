#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/columns.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Keeps a number, which is rounded once, when it is stored. map() reads and writes the columns as
/// matrices whose rows lie as far apart as those of the whole ones.
struct Kept {
  __device__ float operator()(const Cell&, float x) const { return x; }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const CastColumns& op) {
  expect_columns(op);
  const cuda::MatrixSize size{op.to_FB.shape[0], op.columns};
  cuda::with_type_of(op.from_FA, "CastColumns", [&]<class From>(From) {
    cuda::with_type_of(op.to_FB, "CastColumns", [&]<class To>(To) {
      const cuda::MatrixRows<const From> from{cuda::data_of<From>(op.from_FA) + op.first_from,
                                              op.from_FA.shape[1]};
      const cuda::MatrixRows<To> to{cuda::data_of<To>(op.to_FB) + op.first_to, op.to_FB.shape[1]};
      cuda::map(static_cast<CudaStream&>(stream).handle(), size, cuda::Kept{}, to, from);
    });
  });
}

}  // namespace penstock::layers
