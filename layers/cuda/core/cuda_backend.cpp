#include "layers/cuda/core/cuda_backend.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "layers/ops/list.h"
#include "layers/tensor/cuda/handles.h"
#include "layers/tensor/cuda_versions.h"

// The backend hands out CUDA's memory, streams and events; operations are in files of their own.
// Copies and kernels only enqueue: the stream keeps their order, and an error of theirs appears at
// a later call, at the latest in synchronize(). Host memory of two kinds is copied. Any memory at
// all (copy_in, copy_out) goes through the stream's own pinned buffers (cuda_stream.h). Memory of
// allocate_host() is pinned itself, so the device reads and writes it while the host goes on.

namespace penstock::layers {
namespace {

/// Selects the device before any other member of the backend touches it. Throws DeviceError if
/// there is no such device.
int chosen(int device) {
  const int count = cuda_device_count();
  if (device < 0 || device >= count) {
    const std::string absence = cuda_absence();
    throw DeviceError(
        fmt::format("CUDA device {} was requested, {} found{}{}; use device = \"cpu\", "
                    "or a machine with a GPU and its driver",
                    device, count, absence.empty() ? "" : ": ", absence));
  }
  cuda::check(cudaSetDevice(device), "choosing a CUDA device");
  return device;
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device), "asking for a device's name");
  return properties;
}

CudaStream& own(Stream& stream) { return static_cast<CudaStream&>(stream); }

/// Marks the present end of a stream. An error of the work before it appears as DeviceError in
/// query().
class CudaEvent final : public Event {
 public:
  explicit CudaEvent(cudaStream_t stream) : event_(cuda::make_event_handle()) {
    cuda::check(cudaEventRecord(event_.get(), stream), "marking a stream");
  }
  bool query() override {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status != cudaErrorNotReady) cuda::check(status, "waiting for a stream");
    return status == cudaSuccess;
  }
  cudaEvent_t event() const { return event_.get(); }

 private:
  cuda::EventHandle event_;
};

}  // namespace

// Members are made in their order: the device is chosen first, on which the libraries then start.
CudaBackend::CudaBackend(int device, Fp32Products products)
    : device_(chosen(device)),
      fp32_products_(products),
      products_(products),
      convolutions_(products) {
  set_operations<CudaBackend>(operations_, Operations{});
}

std::string CudaBackend::description() const {
  const cudaDeviceProp properties = properties_of(device_);
  int runtime = 0;
  cuda::check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
  return fmt::format("{} (CUDA device {}, {} MiB), CUDA {}, cuBLASLt {}, cuDNN {}", properties.name,
                     device_, properties.totalGlobalMem >> 20, cuda_version_text(runtime),
                     cublasLtGetVersion(), cudnnGetVersion());
}

std::string CudaBackend::model() const { return properties_of(device_).name; }

std::size_t CudaBackend::free_memory() const {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "asking for a device's free memory");
  return free;
}

Buffer CudaBackend::allocate(std::size_t bytes) { return cuda::device_buffer(bytes); }

std::unique_ptr<Stream> CudaBackend::make_stream(std::function<void()> progress) {
  return std::make_unique<CudaStream>(std::move(progress));
}

void CudaBackend::copy_in(Stream& stream, void* device, const void* host, std::size_t bytes) {
  own(stream).copy_in(device, host, bytes);
}

void CudaBackend::copy_out(Stream& stream, void* host, const void* device, std::size_t bytes) {
  own(stream).copy_out(host, device, bytes);
}

void CudaBackend::zero(Stream& stream, void* device, std::size_t bytes) {
  cuda::check(cudaMemsetAsync(device, 0, bytes, own(stream).handle()), "zeroing device memory");
}

void CudaBackend::copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
  cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, own(stream).handle()),
              "copying on the device");
}

Buffer CudaBackend::allocate_host(std::size_t bytes) { return cuda::pinned_buffer(bytes); }

void CudaBackend::copy_in_async(Stream& stream, void* device, const void* host, std::size_t bytes) {
  cuda::check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, own(stream).handle()),
              "copying to the device");
}

void CudaBackend::copy_out_async(Stream& stream, void* host, const void* device,
                                 std::size_t bytes) {
  cuda::check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, own(stream).handle()),
              "copying from the device");
}

std::unique_ptr<Event> CudaBackend::record(Stream& stream) {
  return std::make_unique<CudaEvent>(own(stream).handle());
}

void CudaBackend::wait(Stream& stream, const Event& event) {
  cuda::check(
      cudaStreamWaitEvent(own(stream).handle(), static_cast<const CudaEvent&>(event).event(), 0),
      "letting a stream wait");
}

void CudaBackend::synchronize(Stream& stream) { own(stream).synchronize(); }

std::unique_ptr<Backend> make_cuda_backend(int device, Fp32Products products) {
  return std::make_unique<CudaBackend>(device, products);
}

// After a kernel has failed, every call returns its error. That must not pass for an absence of
// devices.
int cuda_device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
      status == cudaErrorStubLibrary)
    return 0;
  cuda::check(status, "counting CUDA devices (one is in error: see nvidia-smi and dmesg)");
  return count;
}

std::string cuda_absence() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  const CudaVersions cuda = cuda_versions();
  if (status == cudaErrorInsufficientDriver)  // CUDA has one error for both cases
    return cuda.driver == 0 ? "there is no NVIDIA driver"
                            : fmt::format(
                                  "the driver is for CUDA up to {}, but this penstock needs CUDA "
                                  "{}: install a newer driver",
                                  cuda_version_text(cuda.driver), cuda_version_text(cuda.runtime));
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count == 0 ? "no CUDA device is visible" : "";
}

}  // namespace penstock::layers
