#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/cast.h"

namespace penstock::layers {
namespace cuda {
namespace {

template <class From, class To>
__global__ void cast(const From* from, To* to, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) to[i] = from_float<To>(to_float(from[i]));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const Cast& op) {
  cuda::with_type_of(op.from, "Cast", [&]<class From>(From) {
    cuda::with_type_of(op.to, "Cast", [&]<class To>(To) {
      cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.from.size()),
                   cuda::cast<From, To>, cuda::data_of<From>(op.from), cuda::data_of<To>(op.to),
                   op.from.size());
    });
  });
}

}  // namespace penstock::layers
