#include "layers/ops/gate.h"

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"
#include "layers/cpu/gate_functions.h"

namespace penstock::layers {
namespace {

// Calls work(T{}, F{}) with the functions that `kind` and `dtype` name.
template <class Work>
void with_gate(GateKind kind, DType dtype, const char* operation, Work work) {
  for_real(dtype, operation, [&]<class T>(T) {
    switch (kind) {
      case GateKind::glu:
        return work(T{}, Glu<T>{});
      case GateKind::swiglu:
        return work(T{}, SwiGlu<T>{});
    }
  });
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const GateForward& op) {
  with_gate(op.kind, op.x_FD.dtype, "GateForward", [&]<class T, class F>(T, F) {
    const std::int64_t rows = op.y_FC.shape[0], C = op.y_FC.shape[1];
    const T* x = op.x_FD.as<T>();
    T* y = op.y_FC.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, x += 2 * C, y += C)
      for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
        const Halves<T> halves{load<T>(x + c, lanes), load<T>(x + C + c, lanes)};
        store<T>(y + c, F::value(halves), lanes);
      });
  });
}

template <>
void CpuBackend::compute(Stream&, const GateBackward& op) {
  with_gate(op.kind, op.x_FD.dtype, "GateBackward", [&]<class T, class F>(T, F) {
    const std::int64_t rows = op.dy_FC.shape[0], C = op.dy_FC.shape[1];
    const T* x = op.x_FD.as<T>();
    const T* dy = op.dy_FC.as<T>();
    T* dx = op.dx_FD.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, x += 2 * C, dx += 2 * C, dy += C)
      for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
        const Halves<T> halves{load<T>(x + c, lanes), load<T>(x + C + c, lanes)};
        const Halves<T> gradient = F::gradient(halves, load<T>(dy + c, lanes));
        store<T>(dx + c, gradient.a, lanes);
        store<T>(dx + C + c, gradient.b, lanes);
      });
  });
}

}  // namespace penstock::layers
