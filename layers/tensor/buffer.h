#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace penstock::layers {

/// Owns bytes of host or device memory, which a Backend allocates.
class Buffer {
 public:
  using Free = std::function<void(void*)>;

  Buffer() = default;
  Buffer(void* data, std::size_t bytes, Free free)
      : data_(data), bytes_(bytes), free_(std::move(free)) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) free_(data_);
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(free_, other.free_);
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Free free_;
};

/// Allocates uninitialised host memory on a kAlignment boundary. DeviceError if there is not
/// enough.
Buffer host_buffer(std::size_t bytes);

}  // namespace penstock::layers
