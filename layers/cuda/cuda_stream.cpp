#include "layers/cuda/cuda_stream.h"

#include <algorithm>
#include <cstring>

#include "layers/tensor/cuda/error.h"
#include "layers/tensor/tensor.h"

namespace penstock {
namespace {

constexpr std::size_t kPinnedBytes = std::size_t{16} << 20;

}  // namespace

CudaStream::CudaStream()
    : stream_(cuda::make_stream_handle()),
      workspace_(cuda::device_buffer(kWorkspaceBytes)),
      pinned_(cuda::pinned_buffer(kPinnedBytes)) {}

std::byte* CudaStream::stage(std::size_t bytes, std::size_t& granted) {
  if (pinned_in_use_ >= pinned_.bytes()) finish();
  std::byte* start = pinned_.data() + pinned_in_use_;
  granted = std::min(bytes, pinned_.bytes() - pinned_in_use_);
  pinned_in_use_ += aligned(granted);
  return start;
}

void CudaStream::copy_in(void* device, const void* host, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(device);
  const auto* from = static_cast<const std::byte*>(host);
  for (std::size_t done = 0, granted = 0; done < bytes; done += granted) {
    std::byte* pinned = stage(bytes - done, granted);
    std::memcpy(pinned, from + done, granted);
    cuda::check(cudaMemcpyAsync(to + done, pinned, granted, cudaMemcpyHostToDevice, stream_.get()),
                "copying to the device");
  }
}

void CudaStream::copy_out(void* host, const void* device, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  for (std::size_t done = 0, granted = 0; done < bytes; done += granted) {
    std::byte* pinned = stage(bytes - done, granted);
    cuda::check(
        cudaMemcpyAsync(pinned, from + done, granted, cudaMemcpyDeviceToHost, stream_.get()),
        "copying from the device");
    landings_.push_back({to + done, pinned, granted});
  }
}

void CudaStream::finish() {
  cuda::check(cudaStreamSynchronize(stream_.get()), "waiting for a stream");
  for (const Landing& landing : landings_) std::memcpy(landing.host, landing.pinned, landing.bytes);
  landings_.clear();
  pinned_in_use_ = 0;
}

}  // namespace penstock
