#pragma once

// What a kernel's source takes from CUDA, for a compiler of the host: included before it by the
// command line (-include), so that one source serves nvcc and the emulator.
#include "tests/support/emulated_cuda/device/arithmetic.h"
#include "tests/support/emulated_cuda/device/atomic.h"
#include "tests/support/emulated_cuda/device/barrier.h"
#include "tests/support/emulated_cuda/device/indices.h"
#include "tests/support/emulated_cuda/device/launch.h"
#include "tests/support/emulated_cuda/device/shared.h"
#include "tests/support/emulated_cuda/device/warp.h"
#include "tests/support/emulated_cuda/device/words.h"
