#include <cuda_runtime_api.h>

#include "layers/tensor/cuda_versions.h"

namespace penstock::layers {

CudaVersions cuda_versions() {
  CudaVersions versions;
  if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
  if (cudaRuntimeGetVersion(&versions.runtime) != cudaSuccess) versions.runtime = 0;
  return versions;
}

}  // namespace penstock::layers
