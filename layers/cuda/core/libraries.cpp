#include "layers/cuda/core/libraries.h"

#include <string>

#include "base/error.h"
#include "layers/cuda/convolution/convolution_description.h"

namespace penstock::layers::cuda {

CublasLt start_cublaslt() {
  cublasLtHandle_t handle = nullptr;
  if (const cublasStatus_t status = cublasLtCreate(&handle); status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string("starting cuBLASLt: ") + cublasLtGetStatusName(status));
  return CublasLt(handle);
}

Cudnn start_cudnn() {
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "starting cuDNN");
  return Cudnn(handle);
}

}  // namespace penstock::layers::cuda
