#include "layers/tensor/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "layers/tensor/tensor.h"
#include "tests/support/system/resident_memory.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

TEST(HostBuffer, IsAlignedAndHoldsItsBytes) {
  std::vector<Buffer> buffers;
  for (const std::size_t bytes : {0, 1, 63, 4097, (2 << 20) - 1, 2 << 20, (5 << 20) + 3}) {
    const Buffer& buffer = buffers.emplace_back(host_buffer(bytes));
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_NE(buffer.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0u);
    std::memset(buffer.data(), 7, bytes);
  }
  for (const Buffer& buffer : buffers)
    for (std::size_t i = 0; i < buffer.bytes(); i += 1009)
      ASSERT_EQ(buffer.data()[i], std::byte{7});
}

TEST(HostBuffer, ReturnsItsMemoryWhenFreed) {
  if (test::sanitised()) GTEST_SKIP() << "the sanitiser keeps memory of its own";
  constexpr std::size_t kMiB = 1 << 20;
  const std::size_t before = test::resident();
  for (int times = 0; times < 3; ++times) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(host_buffer(7 * kMiB));
      std::memset(buffers.back().data(), 1, buffers.back().bytes());
    }
    EXPECT_NEAR(static_cast<double>(test::resident() - before), 28 * kMiB, kMiB);
    std::swap(buffers[0], buffers[2]);
  }
  EXPECT_NEAR(static_cast<double>(test::resident()), static_cast<double>(before), kMiB);
}

TEST(HostBuffer, SaysHowMuchMemoryIsMissing) {
  const std::string message =
      test::message_of<DeviceError>([] { host_buffer(std::size_t{1} << 60); });
  EXPECT_NE(message.find("1099511627776 MiB"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::layers
