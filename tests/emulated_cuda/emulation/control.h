#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "tests/emulated_cuda/emulation/order.h"

namespace emulated_cuda {

// For tests: what they decide and ask about the machine. Only while no stream has work.

/// From now on blocks, threads and streams go in this order.
void set_order(const Order& order);

/// From now on the driver is for CUDA up to this version, as CUDA counts: 12020 is 12.2.
void set_driver(int version);

/// CUDA's runtime says this version from now on. It starts with any driver of the same major one.
void set_runtime(int version);

/// From now on devices can't be counted: what CUDA says of them. `cudaSuccess` ends that.
void set_counting(cudaError_t status);

/// The device is of this model from now on.
void set_model(int device, const std::string& model);

/// From now on modules are loaded so, and none has been: as in a new process whose
/// CUDA_MODULE_LOADING is "EAGER", or another.
void set_module_loading(const char* mode);

/// From now on NCCL's ranks are each on a host of its own, or all on one, as they are at first.
void set_hosts_apart(bool apart);

/// From now on NCCL revokes communicators, as it does at first, or not, as older ones.
void set_revoking(bool revokes);

/// How often cuDNN and cuBLASLt were asked to choose algorithms, since the program began.
int choices_asked_for();
/// How often cuDNN was asked for the workspace of an algorithm.
int workspaces_asked_for();
/// How often it was given an algorithm that refuses to run.
int refused_by_libraries();
/// How many convolutions and products they were given to compute.
int computed_by_libraries();

/// Streams, events and memory of CUDA that are still there: "2 streams, 1 allocation of memory of
/// device 0". Empty where nothing is.
std::string leftovers();

/// Counts the host's requests since the program began.
struct Issued {
  std::int64_t launches = 0, copies = 0, fills = 0;
  std::int64_t waits = 0;                        // for all of a stream
  std::int64_t messages = 0, message_bytes = 0;  // sent over NCCL
};
Issued issued();

}  // namespace emulated_cuda
