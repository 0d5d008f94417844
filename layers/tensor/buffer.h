#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace penstock::layers {

/// Bytes of host or device memory, freed with the object. A Backend makes it.
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

/// Host memory on a kAlignment boundary, uninitialised. DeviceError if there is not so much.
Buffer host_buffer(std::size_t bytes);

}  // namespace penstock::layers
