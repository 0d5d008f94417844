// Tests on a real GPU: after each one the device is waited for, so that what failed on it is that
// test's.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "comm/nccl.h"
#include "tests/support/layers/device_watch.h"

namespace penstock::layers {
namespace {

constexpr int kDeviceInError = 70;

/// Without a device there is none in error: the tests skip, and say so.
std::string fault_of_device() {
  const cudaError_t status = cudaDeviceSynchronize();
  if (status == cudaSuccess || status == cudaErrorNoDevice ||
      status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary)
    return "";
  return cudaGetErrorName(status);
}

}  // namespace
}  // namespace penstock::layers

int main(int argc, char** argv) {
  penstock::comm::set_nccl_defaults();  // some tests train over NCCL
  ::testing::InitGoogleTest(&argc, argv);
  penstock::test::watch_device({.fault = penstock::layers::fault_of_device,
                                .end = [] { std::_Exit(penstock::layers::kDeviceInError); }});
  return RUN_ALL_TESTS();
}
