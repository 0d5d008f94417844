#include "layers/tensor/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "layers/tensor/error.h"
#include "layers/tensor/tensor.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

TEST(HostBuffer, IsAligned) {
  for (const std::size_t bytes : {0, 1, 4099, 3 << 20}) {
    const Buffer buffer = host_buffer(bytes);
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0u);
  }
}

TEST(HostBuffer, SaysHowMuchMemoryIsMissing) {
  const std::string message =
      test::message_of<DeviceError>([] { host_buffer(std::size_t{1} << 60); });
  EXPECT_NE(message.find("1099511627776 MiB"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock
