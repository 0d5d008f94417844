#include "layers/cuda/core/cuda_stream.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "layers/tensor/cuda/handles.h"
#include "layers/tensor/tensor.h"

// copy_in() and copy_out() pass through pinned memory, since a copy of other host memory would hold
// up the host. Data leave through a ring, whose parts are free again after the stream has passed
// them. Data that arrive stay in pinned memory, with a note of where they belong (a Landing), until
// synchronize() moves them there: only then is it known that they have come.

namespace penstock::layers {
namespace {

// Pinned memory for copies from the device. When it is full, the next copy synchronizes first.
constexpr std::size_t kArrivalBytes = std::size_t{4} << 20;

}  // namespace

CudaStream::CudaStream(std::function<void()> progress)
    : progress_(std::move(progress)), stream_(cuda::make_stream_handle()) {}

void CudaStream::progress() {
  if (progress_) progress_();
}

void* CudaStream::workspace() {
  if (workspace_.data() == nullptr) workspace_ = cuda::device_buffer(kWorkspaceBytes);
  return workspace_.data();
}

Scratch CudaStream::scratch() {
  return Scratch({static_cast<std::byte*>(workspace()), kWorkspaceBytes});
}

void CudaStream::copy_in(void* device, const void* host, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(device);
  const auto* from = static_cast<const std::byte*>(host);
  for (std::size_t done = 0; done < bytes;) {
    const std::span<std::byte> pinned = departures_.take(stream_.get(), bytes - done);
    std::memcpy(pinned.data(), from + done, pinned.size());
    cuda::check(cudaMemcpyAsync(to + done, pinned.data(), pinned.size(), cudaMemcpyHostToDevice,
                                stream_.get()),
                "copying to the device");
    done += pinned.size();
  }
}

// A copy that is larger than the free rest takes several places, and synchronizes whenever all are
// taken.
std::span<std::byte> CudaStream::landing_place(std::size_t bytes) {
  if (arrivals_.data() == nullptr) arrivals_ = cuda::pinned_buffer(kArrivalBytes);
  if (arrivals_in_use_ >= kArrivalBytes) synchronize();
  const std::span<std::byte> place = {arrivals_.data() + arrivals_in_use_,
                                      std::min(bytes, kArrivalBytes - arrivals_in_use_)};
  arrivals_in_use_ += aligned(place.size());
  return place;
}

void CudaStream::copy_out(void* host, const void* device, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  for (std::size_t done = 0; done < bytes;) {
    const std::span<std::byte> pinned = landing_place(bytes - done);
    cuda::check(cudaMemcpyAsync(pinned.data(), from + done, pinned.size(), cudaMemcpyDeviceToHost,
                                stream_.get()),
                "copying from the device");
    landings_.push_back({to + done, pinned.data(), pinned.size()});
    done += pinned.size();
  }
}

// The stream's owner may have messages to move, so the wait is a loop that asks and yields the
// core. If there are none to move, it blocks in the driver.
void CudaStream::wait_for(cudaEvent_t event) {
  if (!progress_) return cuda::check(cudaEventSynchronize(event), "waiting for a stream");
  for (cudaError_t status; (status = cudaEventQuery(event)) != cudaSuccess; progress()) {
    if (status != cudaErrorNotReady) cuda::check(status, "waiting for a stream");
    std::this_thread::yield();
  }
}

// Waits by an event first, during which messages move. cudaStreamSynchronize() then returns at
// once, and with it come the errors of kernels.
void CudaStream::synchronize() {
  if (progress_) {
    const cuda::EventHandle end = cuda::make_event_handle();
    cuda::check(cudaEventRecord(end.get(), stream_.get()), "marking a stream");
    wait_for(end.get());
  }
  cuda::check(cudaStreamSynchronize(stream_.get()), "waiting for a stream");
  for (const Landing& landing : landings_) std::memcpy(landing.host, landing.pinned, landing.bytes);
  landings_.clear();
  arrivals_in_use_ = 0;
}

}  // namespace penstock::layers
