#include "layers/ops/conv2d.h"

#include "layers/cpu/conv2d_direct.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/tensor/error.h"

namespace penstock {

Workspace conv2d_sizes(const BackendSizes& sizes, const Conv2dGeometry& geometry) {
  if (sizes.device != DeviceKind::cpu)
    throw DeviceError("a 2-D convolution exists on the CPU only: place its layer on a CPU device");
  return conv2d_direct::workspace(geometry, sizes.compute);
}

void CpuBackend::run(Stream& stream, const Conv2dForward& op) { conv2d_direct::run(stream, op); }

void CpuBackend::run(Stream& stream, const Conv2dBackwardInput& op) {
  conv2d_direct::run(stream, op);
}

void CpuBackend::run(Stream& stream, const Conv2dBackwardWeight& op) {
  conv2d_direct::run(stream, op);
}

}  // namespace penstock
