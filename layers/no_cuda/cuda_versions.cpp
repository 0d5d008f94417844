#include "layers/tensor/cuda_versions.h"

namespace penstock::layers {

CudaVersions cuda_versions() { return {}; }

}  // namespace penstock::layers
