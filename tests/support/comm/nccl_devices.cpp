#include "tests/support/comm/nccl_devices.h"

#include <gtest/gtest.h>

#include "comm/nccl.h"
#include "layers/backend.h"

namespace penstock::test {

std::string lack_for_nccl(int devices) {
  ::testing::Test::RecordProperty(kDevicesNeeded, devices);
  const int here = layers::cuda_device_count();
  if (here < devices)
    return "needs " + std::to_string(devices) + " devices, " + std::to_string(here) + " here";
  return comm::nccl_is_built() ? "" : "this build has no NCCL";
}

}  // namespace penstock::test
