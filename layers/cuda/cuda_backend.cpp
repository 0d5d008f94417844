#include "layers/cuda/cuda_backend.h"

#include <string>

#include "layers/tensor/cuda/error.h"
#include "layers/tensor/error.h"

namespace penstock {
namespace {

/// Before any other member of the backend touches the device.
int chosen(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || device < 0 || device >= count)
    throw DeviceError(
        "CUDA device " + std::to_string(device) + " was asked for, " +
        std::to_string(status == cudaSuccess ? count : 0) + " found" +
        (status == cudaSuccess ? "" : std::string(": ") + cudaGetErrorString(status)) +
        "; use device = \"cpu\", or a machine with a GPU and its driver");
  cuda::check(cudaSetDevice(device), "choosing a CUDA device");
  return device;
}

CudaStream& own(Stream& stream) { return static_cast<CudaStream&>(stream); }

}  // namespace

CudaBackend::CudaBackend(int device) : device_(chosen(device)) {}

std::string CudaBackend::description() const {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device_), "asking for a device's name");
  int runtime = 0;
  cuda::check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
  return std::string(properties.name) + " (CUDA device " + std::to_string(device_) + ", " +
         std::to_string(properties.totalGlobalMem >> 20) + " MiB), CUDA " +
         std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10) +
         ", cuBLASLt " + std::to_string(cublasLtGetVersion()) + ", cuDNN " +
         std::to_string(cudnnGetVersion());
}

Buffer CudaBackend::allocate(std::size_t bytes) { return cuda::device_buffer(bytes); }

std::unique_ptr<Stream> CudaBackend::make_stream(std::function<void()>) {
  return std::make_unique<CudaStream>();
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

void CudaBackend::finish(Stream& stream) { own(stream).finish(); }

std::unique_ptr<Backend> make_cuda_backend(int device) {
  return std::make_unique<CudaBackend>(device);
}

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace penstock
