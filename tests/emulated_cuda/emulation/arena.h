#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace emulated_cuda {

/// Memory of a device, or pinned memory of the host: allocations filled with NaN, each between
/// bytes that must not be touched. No place is used twice, so that what was freed is never right
/// again.
class Arena {
 public:
  enum class Of { device, host };
  /// `name` is what errors call its memory.
  Arena(Of of, std::string name);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// On a boundary of 256 bytes, as CUDA's.
  void* allocate(std::size_t bytes);
  /// False where no allocation begins at `place`.
  bool release(void* place);

  /// Whether the address is of this arena, allocated or not.
  bool covers(const void* address) const;
  /// Whether all `bytes` are inside one allocation.
  bool holds(const void* begin, std::size_t bytes) const;
  const std::string& name() const { return name_; }
  std::size_t allocations() const { return allocations_.size(); }
  std::size_t bytes() const { return bytes_; }

  /// Whether anybody may touch it at all. A new arena is open.
  void set_open(bool open);

 private:
  void protect(std::byte* begin, std::size_t bytes, bool open) const;

  Of of_;
  std::string name_;
  std::byte *begin_, *end_;                        // of the addresses reserved
  std::byte* used_;                                // up to here
  std::map<std::byte*, std::size_t> allocations_;  // bytes
  std::size_t bytes_ = 0;
  bool open_ = true;
};

}  // namespace emulated_cuda
