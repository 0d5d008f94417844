#include <stdlib.h>

#include <algorithm>

#include "comm/nccl.h"

namespace penstock::comm {
namespace {

constexpr int kOrdersLaunches = 12030;  // CUDA 12.3

}  // namespace

void suit_nccl() {
  const auto suggest = [](const char* name, const char* value) { setenv(name, value, 0); };
  // A kernel that is loaded when it first starts waits until the device is idle, which it is not
  // while NCCL's kernels spin there for messages that wait for this kernel.
  suggest("CUDA_MODULE_LOADING", "EAGER");
  suggest("CUDA_DEVICE_MAX_CONNECTIONS", "32");  // queues, so that no stream waits behind another's
  suggest("NCCL_LAUNCH_ORDER_IMPLICIT", "1");    // one order for all communicators of a device
}

bool nccl_orders_launches(const layers::CudaVersions& cuda) {
  return std::min(cuda.driver, cuda.runtime) >= kOrdersLaunches;
}

}  // namespace penstock::comm
