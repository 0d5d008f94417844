#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "tests/emulated_cuda/emulation/control.h"
#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/memory.h"
#include "tests/emulated_cuda/emulation/modules.h"
#include "tests/emulated_cuda/emulation/order.h"
#include "tests/emulated_cuda/emulation/streams.h"

namespace emulated_cuda {

/// Holds the state of CUDA's functions, which take no argument for it. One host thread at a time
/// uses it.
struct Machine {
  std::mutex mutex;
  std::condition_variable changed;  // something was queued or done
  Order order;
  Memory memory;
  Streams streams;
  std::set<cudaEvent_t> events;
  Timeline timelines = 0;
  std::array<std::string, kDevices> models;  // names of the devices
  int driver = CUDART_VERSION;               // the newest CUDA that it is for
  int runtime = CUDART_VERSION;
  Issued issued;
  int choices = 0;     // of algorithms that cuDNN and cuBLASLt were asked for
  int workspaces = 0;  // of its algorithms, that cuDNN was asked for
  int refused = 0;     // convolutions, by an algorithm of cuDNN
  int computed = 0;    // products and convolutions by them
  Modules modules;
  bool hosts_apart = false;            // NCCL's ranks, each on a host of its own
  bool revokes = true;                 // NCCL does, unless it is an old one
  cudaError_t counting = cudaSuccess;  // of devices

  Machine();
};

Machine& machine();

/// A thread of the host.
struct Host {
  int device = 0;  // of cudaSetDevice
  cudaError_t last_error = cudaSuccess;
  Clock known;  // what it has waited for
};

/// One of CUDA's functions being called: it has the machine for itself and is named in errors.
class Call {
 public:
  explicit Call(const char* name);

  /// The thread that calls.
  Host& host() const { return host_; }
  /// fail() where it is the NULL stream, or none that lives.
  CUstream_st& stream(cudaStream_t stream) const;
  CUevent_st& event(cudaEvent_t event) const;

  /// Queues work that runs whole, with the memory of the stream's device.
  void queue(CUstream_st& stream, std::function<void()> work) const;
  /// Queues what may have to wait, and touches no memory.
  void queue_waiting(CUstream_st& stream, std::function<bool(CUstream_st&)> advance) const;
  /// After this the kernel is on the device. CUDA waits until nothing runs there before it loads
  /// one.
  void load(int device, const void* kernel);
  /// Waits until what was queued up to now in the stream, or on the device, is done.
  void finish(CUstream_st& stream);
  void finish_device(int device);
  void wait_for(const Record& record);

  /// `status`, kept for cudaGetLastError.
  cudaError_t error(cudaError_t status) const;

 private:
  const char* name_;
  Doing doing_;
  Host& host_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace emulated_cuda
