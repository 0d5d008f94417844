#include "layers/backend.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace penstock::layers {
namespace {

TEST(CudaBackend, MissingDeviceThrowsAndNamesTheCpu) {
  try {
    make_cuda_backend(cuda_device_count());
    FAIL() << "a device that does not exist was taken";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("device = \"cpu\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace penstock::layers
