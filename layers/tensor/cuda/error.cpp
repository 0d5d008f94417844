#include "layers/tensor/cuda/error.h"

#include <string>

#include "base/error.h"

namespace penstock::layers::cuda {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  throw DeviceError(std::string(doing) + ": " + cudaGetErrorName(status) + ", " +
                    cudaGetErrorString(status));
}

}  // namespace penstock::layers::cuda
