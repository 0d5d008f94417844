#pragma once

#include <cuda_runtime_api.h>

// These say which thread runs. The emulator rewrites them whenever another thread goes on.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
