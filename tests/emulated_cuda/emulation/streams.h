#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulated_cuda/emulation/clock.h"
#include "tests/emulated_cuda/emulation/order.h"

/// CUDA's types of handles.
struct CUstream_st;
struct CUevent_st;

namespace emulated_cuda {

/// Work in a stream.
struct Operation {
  std::string what;  // "cudaMemcpyAsync"
  /// Goes on; true when done. It is called again while it is not.
  std::function<bool(CUstream_st&)> advance;
  Clock known = {};  // what the host knew to be done when it was queued
};

/// A place in a stream that has been reached or not; an event points to its latest.
struct Record {
  bool reached = false;
  Clock clock;  // what was done then
  const CUstream_st* stream = nullptr;
  std::int64_t done = 0;  // how many operations of that stream
};

/// All streams. Nothing runs before a call that waits; then operations run one by one, of whatever
/// stream the order chooses, as far as events and messages let them.
class Streams {
 public:
  CUstream_st& make(int device, Timeline line);
  /// Destroys the stream once its queued operations have run.
  void destroy(CUstream_st& stream);
  /// Null where `stream` is none, or destroyed.
  CUstream_st* find(cudaStream_t stream) const;

  void queue(CUstream_st& stream, Operation operation);
  /// Runs operations until `done`; other host threads, if any must do something first, have `lock`
  /// meanwhile. fail() after 60 seconds in which none did.
  void run_until(const std::function<bool()>& done, std::unique_lock<std::mutex>& lock);
  /// One operation of any stream, as when the host asks how far they are. fail() after 30 seconds
  /// in which it asked and none could go on.
  void go_on();

  bool idle(int device) const;
  /// Returns the clock of all that the device's streams have done.
  Clock done_on(int device) const;
  std::size_t alive() const;

 private:
  /// One operation of any stream; false where none can go on.
  bool step();
  bool advance(CUstream_st& stream);
  std::string waiting() const;

  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::map<int, Clock> done_by_destroyed_;  // of each device
  std::chrono::steady_clock::time_point changed_ = std::chrono::steady_clock::now();
};

}  // namespace emulated_cuda

struct CUstream_st {
  int device;
  emulated_cuda::Timeline line;
  emulated_cuda::Clock clock = {};
  std::int64_t done = 0;  // operations, without waits and records
  std::deque<emulated_cuda::Operation> queue = {};
  bool destroyed = false;
};

struct CUevent_st {
  int device;
  bool keeps_time;
  std::shared_ptr<emulated_cuda::Record> latest = nullptr;  // null before the first
};
