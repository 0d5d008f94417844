#pragma once

#include <string>

#include "tests/emulated_cuda/emulation/order.h"

namespace emulated_cuda {

// For tests: what they decide and ask about the machine. Only while no stream has work.

/// From now on blocks, threads and streams go in this order.
void set_order(const Order& order);

/// From now on the driver is for CUDA up to this version, as CUDA counts: 12020 is 12.2.
void set_driver(int version);

/// The device is of this model from now on.
void set_model(int device, const std::string& model);

/// Streams, events and memory of CUDA that are still there: "2 streams, 1 allocation of memory of
/// device 0". Empty where nothing is.
std::string leftovers();

}  // namespace emulated_cuda
