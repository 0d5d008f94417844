#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "layers/layer_plan.h"
#include "layers/ops/operation_table.h"
#include "layers/tensor/buffer.h"

namespace penstock::layers {

/// An ordered queue of work on a device. The CPU does the work within the call that enqueues it.
/// Code that enqueues much work calls progress(), as long operations of the CPU do, so that
/// messages move meanwhile.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void progress() {}
  /// Returns the device's own queue, for libraries that take one; null on the CPU.
  virtual void* native() { return nullptr; }
  /// Workspace that is lent to the stream. Operations may use its end: the CPU keeps FP32 copies of
  /// 16-bit tensors there.
  std::span<std::byte> lent() const { return lent_; }

 private:
  friend class WorkspaceScope;
  std::span<std::byte> lent_;
};

/// Lends a stream the workspace that a layer's plan() declares, for one call of the layer.
class WorkspaceScope {
 public:
  WorkspaceScope(Stream& stream, std::span<std::byte> workspace)
      : stream_(stream), before_(std::exchange(stream.lent_, workspace)) {}
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;
  ~WorkspaceScope() { stream_.lent_ = before_; }

 private:
  Stream& stream_;
  std::span<std::byte> before_;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns true if the work before it is done.
  virtual bool query() = 0;
};

/// A device: its memory, and run(stream, operation) for each operation of layers/ops/list.h. An
/// operation is a struct of its arguments, which documents shapes, units and formulas. All pointers
/// are to the device's memory, except where the struct says otherwise. DeviceError for a dtype in
/// which the backend does not compute.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Enqueues an operation of layers/ops/list.h.
  template <class Operation>
  void run(Stream& stream, const Operation& operation) {
    operations_.run(*this, stream, operation);
  }
  virtual DeviceKind kind() const = 0;
  /// Describes device, library versions and threads, for the log.
  virtual std::string description() const = 0;
  /// Returns the name of the device model, such as "NVIDIA H100 80GB HBM3". Devices of equal models
  /// compute equal bits. Empty for a CPU.
  virtual std::string model() const { return ""; }

  /// Returns the bytes of free device memory. The host's is not counted: it returns the largest
  /// number.
  virtual std::size_t free_memory() const { return std::numeric_limits<std::size_t>::max(); }
  /// Allocates uninitialised device memory, aligned to kAlignment.
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// Makes a stream, whose progress() calls `progress`.
  virtual std::unique_ptr<Stream> make_stream(std::function<void()> progress = {}) = 0;
  /// Copies host memory to the device. `host` may change once the call returns.
  virtual void copy_in(Stream&, void* device, const void* host, std::size_t bytes) = 0;
  /// Copies device memory to the host. `host` holds the bytes once synchronize() has returned; the
  /// same holds for host spans that operations fill.
  virtual void copy_out(Stream&, void* host, const void* device, std::size_t bytes) = 0;
  virtual void zero(Stream&, void* device, std::size_t bytes) = 0;

  /// Copies device memory to device memory that does not overlap.
  virtual void copy(Stream&, void* to, const void* from, std::size_t bytes) = 0;

  /// Allocates host memory that the device itself reads and writes, beside other work.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  /// Copy as copy_in and copy_out do, but `host` is memory of allocate_host. Neither side may
  /// change or be freed before the stream has passed the copy.
  virtual void copy_in_async(Stream&, void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out_async(Stream&, void* host, const void* device, std::size_t bytes) = 0;
  /// Records the present end of the stream's work.
  virtual std::unique_ptr<Event> record(Stream&) = 0;
  /// Makes later work of `stream` wait for the event, which belongs to another stream.
  virtual void wait(Stream& stream, const Event& event) = 0;
  /// Returns when the stream's work is done; raises the errors of that work.
  virtual void synchronize(Stream&) = 0;

 protected:
  OperationTable operations_;  // filled by constructors
};

/// Makes the CPU backend. `threads` is the number that every product and kernel of this process may
/// use.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads = 1);

/// Makes the backend of a CUDA device. DeviceError if this build or this machine has no such
/// device.
std::unique_ptr<Backend> make_cuda_backend(int device = 0,
                                           Fp32Products products = Fp32Products::full);
/// Returns the number of CUDA devices; 0 without a driver, a device, or CUDA in this build.
/// DeviceError if a device is in error.
[[nodiscard]] int cuda_device_count();
/// Returns why there is no CUDA device, in CUDA's words; empty if there is one.
[[nodiscard]] std::string cuda_absence();

}  // namespace penstock::layers
