#include <stdlib.h>

#include <algorithm>

#include "comm/join.h"
#include "comm/nccl.h"

namespace penstock::comm {
namespace {

constexpr int kOrdersLaunches = 12030;  // CUDA 12.3

constexpr std::size_t kPage = std::size_t{2} << 20, kMargin = std::size_t{16} << 20;
constexpr std::size_t kSimple = std::size_t{4} << 20;
// Steps × threads × bytes that a thread sends per step (src/include/device.h of NCCL).
constexpr std::size_t kLl128 = 8 * 640 * 120 * sizeof(std::uint64_t), kLl = 8 * 512 * 8 * 16;

}  // namespace

void set_nccl_defaults() {
  const auto suggest = [](const char* name, const char* value) { setenv(name, value, 0); };
  // Lazy loading would deadlock. A kernel that is loaded at its first start waits until the device
  // is idle. The device is not idle while NCCL's kernels spin for messages that wait for this
  // kernel.
  suggest("CUDA_MODULE_LOADING", "EAGER");
  suggest("CUDA_DEVICE_MAX_CONNECTIONS", "32");  // queues: no stream waits for another
  suggest("NCCL_LAUNCH_ORDER_IMPLICIT", "1");    // one order for a device's communicators
  // NCCL's sockets take anyone who reaches them. On one machine nobody else needs to.
  if (is_job_on_one_machine()) suggest("NCCL_SOCKET_IFNAME", "=lo");
}

bool nccl_orders_launches(const layers::CudaVersions& cuda) {
  return std::min(cuda.driver, cuda.runtime) >= kOrdersLaunches;
}

std::size_t nccl_memory(int ways, int channels) {
  constexpr std::size_t buffers = (kSimple + kLl128 + kLl + kPage - 1) / kPage * kPage;
  return static_cast<std::size_t>(ways) * static_cast<std::size_t>(channels) * buffers + kMargin;
}

}  // namespace penstock::comm
