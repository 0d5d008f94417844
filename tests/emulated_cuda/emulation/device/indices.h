#pragma once

#include <cuda_runtime_api.h>

// Where the running thread is; rewritten whenever another goes on.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
