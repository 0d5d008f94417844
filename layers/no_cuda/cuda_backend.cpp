#include "base/error.h"
#include "layers/backend.h"
#include "layers/tensor/cuda_versions.h"

namespace penstock::layers {

// CMake compiles this file in place of layers/cuda, so no other source asks whether there is CUDA.
std::unique_ptr<Backend> make_cuda_backend(int, Fp32Products) {
  throw DeviceError(
      "this penstock was built without CUDA: install the toolkit and build with PENSTOCK_CUDA=ON, "
      "or use device = \"cpu\"");
}

int cuda_device_count() { return 0; }

std::string cuda_absence() { return "this penstock was built without CUDA"; }

CudaVersions cuda_versions() { return {}; }

}  // namespace penstock::layers
