#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/cuda/elementwise/gate_functions.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Computes a number of y from one of each half. map() reads the halves as two matrices whose rows
/// lie twice as far apart.
template <class F>
struct Gated {
  __device__ float operator()(const Cell&, float a, float b) const { return F::value({a, b}); }
};

/// The two halves of each row of a matrix that has twice as many columns.
template <class T>
struct HalvesOfRows {
  HalvesOfRows(T* first, std::int64_t columns)
      : a{first, 2 * columns}, b{first + columns, 2 * columns} {}
  MatrixRows<T> a, b;
};

/// Computes both halves of dx. It has a kernel of its own, since map() has one result.
template <class F, class T>
__global__ void gate_backward(MatrixSize size, bool aligned, HalvesOfRows<const T> x,
                              MatrixRows<const T> dy, HalvesOfRows<T> dx) {
  for_each_eight(size, aligned, [&](const EightCells& cells) {
    EightFloats a = cells.load(x.a), b = cells.load(x.b);
    const EightFloats gradients = cells.load(dy);
    UNROLLED for (int k = 0; k < kEight; ++k) {
      const HalfRows gradient = F::gradient({a.values[k], b.values[k]}, gradients.values[k]);
      a.values[k] = gradient.a;
      b.values[k] = gradient.b;
    }
    cells.store(a, dx.a);
    cells.store(b, dx.b);
  });
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
  const cuda::MatrixSize size{op.y_FC.shape.at(0), op.y_FC.shape.at(1)};
  cuda::with_gate(op.kind, op.x_FD, "GateForward", [&]<class T, class F>(T, F) {
    const cuda::HalvesOfRows<const T> x(cuda::data_of<T>(op.x_FD), size.columns);
    cuda::map(static_cast<CudaStream&>(stream).handle(), size, cuda::Gated<F>{},
              cuda::rows_to<T>(op.y_FC, size.columns), x.a, x.b);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const GateBackward& op) {
  const cuda::MatrixSize size{op.dy_FC.shape.at(0), op.dy_FC.shape.at(1)};
  if (op.dy_FC.size() == 0) return;
  cuda::with_gate(op.kind, op.x_FD, "GateBackward", [&]<class T, class F>(T, F) {
    const cuda::HalvesOfRows<const T> x(cuda::data_of<T>(op.x_FD), size.columns);
    const cuda::HalvesOfRows<T> dx(cuda::data_of<T>(op.dx_FD), size.columns);
    const cuda::MatrixRows<const T> dy = cuda::rows_of<T>(op.dy_FC, size.columns);
    const bool aligned = cuda::is_aligned(x.a) && cuda::is_aligned(x.b) && cuda::is_aligned(dy) &&
                         cuda::is_aligned(dx.a) && cuda::is_aligned(dx.b);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_eights(size),
                 cuda::gate_backward<F, T>, size, aligned, x, dy, dx);
  });
}

}  // namespace penstock::layers
