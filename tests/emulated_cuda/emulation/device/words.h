#pragma once

#include <cuda_runtime.h>

// CUDA's words around declarations, which NVIDIA's headers give to nvcc alone. A kernel under
// emulation is a plain function.
#undef __global__
#undef __device__
#undef __host__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define UNROLLED
#define NEVER_INLINED

/// Marks functions in headers whose loads and stores are not the kernel's own.
#define EMULATED_CUDA_UNOBSERVED __attribute__((no_sanitize("thread")))
