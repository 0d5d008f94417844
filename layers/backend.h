#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "layers/layer_plan.h"
#include "layers/ops/dispatch.h"
#include "layers/tensor/buffer.h"

namespace penstock::layers {

/// An ordered queue of work on a device. On the CPU work is done when it is asked for. Whoever asks
/// for much calls progress(), as long operations of the CPU do, so that messages move meanwhile.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void progress() {}
  /// The device's own queue, for libraries that take one; null on the CPU.
  virtual void* native() { return nullptr; }
  /// Memory whose end operations may use for themselves: the CPU for its FP32 copies of halves.
  std::span<std::byte> lent() const { return lent_; }

 private:
  friend class Lending;
  std::span<std::byte> lent_;
};

/// Lends a stream the workspace that a layer's plan() declared, for one call of the layer.
class Lending {
 public:
  Lending(Stream& stream, std::span<std::byte> workspace)
      : stream_(stream), before_(std::exchange(stream.lent_, workspace)) {}
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;
  ~Lending() { stream_.lent_ = before_; }

 private:
  Stream& stream_;
  std::span<std::byte> before_;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Whether the work before it is done.
  virtual bool query() = 0;
};

/// A device: its memory and run(stream, operation) for each operation of layers/ops/list.h. An
/// operation is a struct of its arguments, which documents shapes, units and formulas. All pointers
/// are to the device's memory. A dtype that the backend does not compute in raises DeviceError.
class Backend : public OperationInterface<Operations> {
 public:
  virtual DeviceKind kind() const = 0;
  /// Device, library versions, threads: for the log.
  virtual std::string description() const = 0;
  /// Equal ones compute equal bits: "NVIDIA H100 80GB HBM3"; empty for a CPU, which says nothing.
  virtual std::string model() const { return ""; }

  /// Bytes of the device's memory that nobody has taken; of the host's, as many as there can be.
  virtual std::size_t free_memory() const { return std::numeric_limits<std::size_t>::max(); }
  /// Uninitialised memory of the device, aligned to kAlignment.
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// `progress` is what progress() calls.
  virtual std::unique_ptr<Stream> make_stream(std::function<void()> progress = {}) = 0;
  /// `host` may change once this returns.
  virtual void copy_in(Stream&, void* device, const void* host, std::size_t bytes) = 0;
  /// `host` holds the bytes once synchronize() has returned; so do host spans that operations fill.
  virtual void copy_out(Stream&, void* host, const void* device, std::size_t bytes) = 0;
  virtual void zero(Stream&, void* device, std::size_t bytes) = 0;

  /// From device memory to device memory; not overlapping.
  virtual void copy(Stream&, void* to, const void* from, std::size_t bytes) = 0;

  /// Memory of the host with which the device itself exchanges bytes, beside other work.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  /// As copy_in and copy_out, but `host` is memory of allocate_host, and neither side may change or
  /// be freed before the stream has passed.
  virtual void copy_in_async(Stream&, void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out_async(Stream&, void* host, const void* device, std::size_t bytes) = 0;
  /// Where the stream's work ends now.
  virtual std::unique_ptr<Event> record(Stream&) = 0;
  /// What is asked of `stream` from now on is done after the event, which is another stream's.
  virtual void wait(Stream& stream, const Event& event) = 0;
  /// Returns when the stream's work is done; raises what failed in it.
  virtual void synchronize(Stream&) = 0;
};

/// `threads` is the number that every product and kernel of this process may use.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(int threads = 1);

/// DeviceError where this build or this machine has no CUDA device of that number.
std::unique_ptr<Backend> make_cuda_backend(int device = 0,
                                           Fp32Products products = Fp32Products::full);
/// 0 without a driver, a device, or CUDA in this build. DeviceError where a device is in error.
[[nodiscard]] int cuda_device_count();
/// Why there is none, in CUDA's words; empty where there is one.
[[nodiscard]] std::string cuda_absence();

}  // namespace penstock::layers
