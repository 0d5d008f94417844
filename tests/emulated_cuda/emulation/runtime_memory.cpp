// CUDA's runtime: memory. Copies are asynchronous and between pinned and device memory alone.
#include <cuda_runtime_api.h>

#include <cstring>

#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

using namespace emulated_cuda;

cudaError_t cudaMalloc(void** place, size_t bytes) {
  const Call call("cudaMalloc");
  Arena& device = machine().memory.device(call.host().device);
  *place = nullptr;
  if (device.bytes() + bytes > Memory::kBytes) return call.error(cudaErrorMemoryAllocation);
  if (bytes > 0) *place = device.allocate(bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* place) {
  Call call("cudaFree");
  if (place == nullptr) return cudaSuccess;
  for (int number = 0; number < kDevices; ++number) {
    Arena& device = machine().memory.device(number);
    if (!device.covers(place)) continue;
    call.finish_device(number);
    if (device.release(place)) return cudaSuccess;
  }
  fail(place, " is not the begin of device memory: it is ", machine().memory.kind_of(place));
}

cudaError_t cudaMallocHost(void** place, size_t bytes) {
  const Call call("cudaMallocHost");
  *place = bytes == 0 ? nullptr : machine().memory.pinned().allocate(bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* place) {
  Call call("cudaFreeHost");
  if (place == nullptr) return cudaSuccess;
  call.finish_device(call.host().device);
  if (!machine().memory.pinned().release(place))
    fail(place, " is not the begin of pinned memory: it is ", machine().memory.kind_of(place));
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const Call call("cudaMemGetInfo");
  *total = Memory::kBytes;
  *free = Memory::kBytes - machine().memory.device(call.host().device).bytes();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  const Call call("cudaMemcpyAsync");
  CUstream_st& stream = call.stream(handle);
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDefault)
    fail("give the kind of the copy: to, from or on the device");
  Memory& memory = machine().memory;
  if (kind == cudaMemcpyDeviceToHost)
    memory.expect_pinned(to, bytes, "the destination");
  else
    memory.expect_device(stream.device, to, bytes, "the destination");
  if (kind == cudaMemcpyHostToDevice)
    memory.expect_pinned(from, bytes, "the source");
  else
    memory.expect_device(stream.device, from, bytes, "the source");
  ++machine().issued.copies;
  call.queue(stream, [=] {
    watch().operation_reads(from, bytes);
    watch().operation_writes(to, bytes);
    std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* place, int value, size_t bytes, cudaStream_t handle) {
  const Call call("cudaMemsetAsync");
  CUstream_st& stream = call.stream(handle);
  if (bytes == 0) return cudaSuccess;
  machine().memory.expect_device(stream.device, place, bytes, "the destination");
  ++machine().issued.fills;
  call.queue(stream, [=] {
    watch().operation_writes(place, bytes);
    std::memset(place, value, bytes);
  });
  return cudaSuccess;
}
