#include "layers/ops/conv2d.h"

#include "layers/cpu/convolution/conv2d_methods.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/sizes.h"
#include "layers/ops/linear.h"

namespace penstock::layers {
namespace {

// The choice depends on dtype and geometry alone, not on lengths of utterances: the workspace must
// be planned for the method that later runs.
bool by_fft(DType dtype, const Conv2dGeometry& geometry) {
  return dtype == DType::f32 && conv2d_fft::suits(geometry);
}

template <class Operation>
void run_one(Stream& stream, DType dtype, const Operation& op) {
  if (op.geometry.depthwise)
    conv2d_depthwise::run(stream, op);
  else if (by_fft(dtype, op.geometry))
    conv2d_fft::run(stream, op);
  else
    conv2d_direct::run(stream, op);
}

}  // namespace

Workspace cpu::conv2d_workspace(const Conv2dGeometry& geometry, DType dtype) {
  if (geometry.depthwise) return conv2d_depthwise::workspace(geometry, dtype);
  return by_fft(dtype, geometry) ? conv2d_fft::workspace(geometry)
                                 : conv2d_direct::workspace(geometry, dtype);
}

template <>
void CpuBackend::compute(Stream& stream, const Conv2dForward& op) {
  run_one(stream, op.y_FC.dtype, op);
  if (op.bias_O.data != nullptr) run(stream, AddBias{op.y_FC, op.bias_O, op.y_FC});
}

template <>
void CpuBackend::compute(Stream& stream, const Conv2dBackwardInput& op) {
  run_one(stream, op.dy_FC.dtype, op);
}

template <>
void CpuBackend::compute(Stream& stream, const Conv2dBackwardWeight& op) {
  run_one(stream, op.dy_FC.dtype, op);
}

}  // namespace penstock::layers
