#include "layers/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/cpu/products/product.h"
#include "layers/ops/list.h"

namespace penstock::layers {
namespace {

/// The stream has no queue: work is done when the call that enqueues it returns.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(std::function<void()> progress) : progress_(std::move(progress)) {}
  void progress() override {
    if (progress_) progress_();
  }

 private:
  std::function<void()> progress_;
};

/// Copies bytes. Unlike memcpy(), it allows null addresses if there are no bytes.
void copy_bytes(void* to, const void* from, std::size_t bytes) {
  std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
}

/// An event that is always complete, because operations return when they are done.
class CpuEvent final : public Event {
 public:
  bool query() override { return true; }
};

}  // namespace

CpuBackend::CpuBackend(int threads) : threads_(threads) {
  set_operations<CpuBackend>(operations_, Operations{});
  set_product_threads(threads);
}

std::string CpuBackend::description() const {
  return "CPU, " + counted(static_cast<std::size_t>(threads_), "thread");
}

Buffer CpuBackend::allocate(std::size_t bytes) { return host_buffer(bytes); }

std::unique_ptr<Stream> CpuBackend::make_stream(std::function<void()> progress) {
  return std::make_unique<CpuStream>(std::move(progress));
}

void CpuBackend::copy_in(Stream&, void* device, const void* host, std::size_t bytes) {
  copy_bytes(device, host, bytes);
}

void CpuBackend::copy_out(Stream&, void* host, const void* device, std::size_t bytes) {
  copy_bytes(host, device, bytes);
}

void CpuBackend::zero(Stream&, void* device, std::size_t bytes) {
  std::fill_n(static_cast<std::byte*>(device), bytes, std::byte{0});
}

void CpuBackend::copy(Stream&, void* to, const void* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
}

Buffer CpuBackend::allocate_host(std::size_t bytes) { return host_buffer(bytes); }

// Device memory is host memory, and work is done when its call returns, so these copy at once.
void CpuBackend::copy_in_async(Stream&, void* device, const void* host, std::size_t bytes) {
  copy_bytes(device, host, bytes);
}

void CpuBackend::copy_out_async(Stream&, void* host, const void* device, std::size_t bytes) {
  copy_bytes(host, device, bytes);
}

std::unique_ptr<Event> CpuBackend::record(Stream&) { return std::make_unique<CpuEvent>(); }

void throw_not_real(DType dtype, const char* operation) {
  throw DeviceError(
      fmt::format("{} on the CPU takes f32 or f64, not {}", operation, name_of(dtype)));
}

}  // namespace penstock::layers
