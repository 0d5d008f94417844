#pragma once

#include "layers/cuda/core/cuda_stream.h"

namespace penstock::tools {

/// Starts a kernel that does nothing.
void launch_nothing(const layers::CudaStream& stream);

}  // namespace penstock::tools
