#pragma once

#include <string>

#include "tests/support/emulated_cuda/order.h"

namespace emulated_cuda {

// For tests: what they decide and ask about the machine. Only while no stream has work.

/// From now on blocks, threads and streams go in this order.
void set_order(const Order& order);

/// Streams, events and memory of CUDA that are still there: "2 streams, 1 allocation of memory of
/// device 0". Empty where nothing is.
std::string leftovers();

}  // namespace emulated_cuda
