// CUDA's runtime: devices and errors.
#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/shared_memory.h"

using namespace emulated_cuda;

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call("cudaGetDeviceCount");
  if (machine().driver / 1000 < machine().runtime / 1000)
    return call.error(cudaErrorInsufficientDriver);
  if (machine().counting != cudaSuccess) return call.error(machine().counting);
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Call call("cudaSetDevice");
  if (device < 0 || device >= kDevices) return call.error(cudaErrorInvalidDevice);
  call.host().device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = Call("cudaGetDevice").host().device;
  return cudaSuccess;
}

/// Describes an H100, but for the memory.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Call call("cudaGetDeviceProperties");
  if (device < 0 || device >= kDevices) return call.error(cudaErrorInvalidDevice);
  *properties = {};
  const std::string& model = machine().models[static_cast<std::size_t>(device)];
  std::strncpy(properties->name, model.c_str(), sizeof properties->name - 1);
  properties->totalGlobalMem = Memory::kBytes;
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 132;
  properties->maxThreadsPerBlock = 1024;
  properties->warpSize = 32;
  properties->sharedMemPerBlock = SharedMemory::kMaxDeclared;
  properties->sharedMemPerBlockOptin = SharedMemory::kMax;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  const Call call("cudaRuntimeGetVersion");
  *version = machine().runtime;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  const Call call("cudaDriverGetVersion");
  *version = machine().driver;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  Host& host = Call("cudaGetLastError").host();
  return std::exchange(host.last_error, cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "an error that emulated CUDA does not return";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
