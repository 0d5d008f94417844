#pragma once

// This header declares what a kernel's source takes from CUDA, for a compiler of the host. The
// command line includes it before the source (-include), so that one source serves nvcc and the
// emulator.
#include "tests/emulated_cuda/emulation/device/arithmetic.h"
#include "tests/emulated_cuda/emulation/device/atomic.h"
#include "tests/emulated_cuda/emulation/device/barrier.h"
#include "tests/emulated_cuda/emulation/device/indices.h"
#include "tests/emulated_cuda/emulation/device/launch.h"
#include "tests/emulated_cuda/emulation/device/mma.h"
#include "tests/emulated_cuda/emulation/device/shared.h"
#include "tests/emulated_cuda/emulation/device/warp.h"
#include "tests/emulated_cuda/emulation/device/words.h"
