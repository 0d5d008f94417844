#pragma once

#include <string>

#include "tests/emulated_cuda/emulation/block.h"
#include "tests/emulated_cuda/emulation/launch.h"

namespace emulated_cuda {

/// Runs all blocks of a launch, one after the other in the order's order.
void run_grid(const Launch& launch, Order& order);

/// The block whose thread has the processor. Only from inside a kernel.
Block& running_block();
Order& running_order();

/// How many blocks this process has run: tells blocks apart.
unsigned block_number();
bool in_kernel();
/// "" outside kernels, else kernel, block and thread, each line begun.
std::string position_in_kernel();

}  // namespace emulated_cuda
