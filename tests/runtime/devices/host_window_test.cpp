#include "runtime/devices/host_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/layers/watched_backend.h"

namespace penstock::runtime {
namespace {

using test::WatchedBackend;

constexpr std::int64_t kElements = 2 * HostWindow::kBytes / sizeof(std::int32_t) + 1001;

std::vector<std::int32_t> counted() {
  std::vector<std::int32_t> numbers(kElements);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(3 * i);
  return numbers;
}

/// The tensor's bytes as the window shows them, and in how many parts.
int read_all(HostWindow& window, const layers::Tensor& tensor, std::vector<std::int32_t>& out) {
  auto* to = reinterpret_cast<std::byte*>(out.data());
  int parts = 0;
  for (std::size_t begin = 0; begin < tensor.bytes(); ++parts) {
    const auto part = window.read(tensor, begin);
    std::ranges::copy(part, to + begin);
    begin += part.size();
  }
  return parts;
}

TEST(HostWindow, ShowsTheHostsOwnMemoryUncopied) {
  WatchedBackend backend;
  const auto stream = backend.make_stream({});
  auto numbers = counted();
  const layers::Tensor tensor{numbers.data(), layers::DType::i32, {kElements}};
  HostWindow window(backend, *stream);
  const void* first = window.read(tensor, 0).data();
  EXPECT_EQ(first, numbers.data());
  EXPECT_EQ(window.read(tensor, 8).size(), tensor.bytes() - 8);
  window.write(tensor, [&](std::size_t begin, std::span<std::byte> part) {
    EXPECT_EQ(begin, 0u);
    EXPECT_EQ(part.size(), tensor.bytes());
    EXPECT_EQ(static_cast<void*>(part.data()), numbers.data());
  });
  EXPECT_EQ(backend.largest_copy, 0u);
}

TEST(HostWindow, CopiesADevicesMemoryPartByPart) {
  WatchedBackend backend(layers::DeviceKind::cuda);
  const auto stream = backend.make_stream({});
  auto numbers = counted();
  const layers::Tensor tensor{numbers.data(), layers::DType::i32, {kElements}};
  HostWindow window(backend, *stream);
  std::vector<std::int32_t> out(kElements);
  EXPECT_EQ(read_all(window, tensor, out), 3);
  EXPECT_EQ(out, numbers);

  std::ranges::fill(numbers, -1);
  window.write(tensor, [&](std::size_t begin, std::span<std::byte> part) {
    std::copy_n(reinterpret_cast<const std::byte*>(out.data()) + begin, part.size(), part.data());
  });
  EXPECT_EQ(numbers, out);
  EXPECT_EQ(backend.largest_copy, HostWindow::kBytes);
}

}  // namespace
}  // namespace penstock::runtime
