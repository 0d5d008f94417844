#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/gate_functions.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/gate.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Element i of y, and where its a and b lie in x.
struct GatePlace {
  __device__ GatePlace(std::int64_t i, int channels)
      : a(i / channels * 2 * channels + i % channels), b(a + channels) {}
  std::int64_t a, b;
};

template <class F, class T>
__global__ void gate(const T* x, T* y, std::int64_t count, int channels) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const GatePlace place(i, channels);
  y[i] = from_float<T>(F::value({to_float(x[place.a]), to_float(x[place.b])}));
}

template <class T>
struct GateOperands {
  const T* x;
  const T* dy;
  T* dx;
};

template <class F, class T>
__global__ void gate_backward(GateOperands<T> of, std::int64_t count, int channels) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const GatePlace place(i, channels);
  const HalfRows gradient =
      F::gradient({to_float(of.x[place.a]), to_float(of.x[place.b])}, to_float(of.dy[i]));
  of.dx[place.a] = from_float<T>(gradient.a);
  of.dx[place.b] = from_float<T>(gradient.b);
}

/// Calls work(T{}, F{}) with the number type of `tensor` and the functions that `kind` names.
template <class Work>
void with_gate(GateKind kind, const Tensor& tensor, const char* operation, Work work) {
  with_type_of(tensor, operation, [&]<class T>(T type) {
    switch (kind) {
      case GateKind::glu:
        return work(type, Glu{});
      case GateKind::swiglu:
        return work(type, SwiGlu{});
    }
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const GateForward& op) {
  const int channels = static_cast<int>(op.y_FC.shape.at(1));
  cuda::with_gate(op.kind, op.x_FD, "GateForward", [&]<class T, class F>(T, F) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.y_FC.size()),
                 cuda::gate<F, T>, cuda::data_of<T>(op.x_FD), cuda::data_of<T>(op.y_FC),
                 op.y_FC.size(), channels);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const GateBackward& op) {
  const int channels = static_cast<int>(op.dy_FC.shape.at(1));
  cuda::with_gate(op.kind, op.x_FD, "GateBackward", [&]<class T, class F>(T, F) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.dy_FC.size()),
                 cuda::gate_backward<F, T>,
                 cuda::GateOperands<T>{cuda::data_of<T>(op.x_FD), cuda::data_of<T>(op.dy_FC),
                                       cuda::data_of<T>(op.dx_FD)},
                 op.dy_FC.size(), channels);
  });
}

}  // namespace penstock::layers
