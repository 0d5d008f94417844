#pragma once

#include <cuda_runtime_api.h>

namespace penstock::layers::cuda {

/// Raises DeviceError "<doing>: <CUDA's name and text of the error>" unless `status` is success.
void check(cudaError_t status, const char* doing);

}  // namespace penstock::layers::cuda
