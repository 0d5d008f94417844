#pragma once

#include <cstddef>
#include <vector>

namespace emulated_cuda {

/// A block's shared memory. Every array lies between bytes that must not be touched, and holds NaN
/// when the block begins.
class SharedMemory {
 public:
  SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Forgets the arrays of the block before; `dynamic_bytes` as the launch gave them.
  void begin(std::size_t dynamic_bytes);
  void end();

  /// The block's array of the declaration that `key` stands for. fail() beyond the 48 KiB that a
  /// kernel may declare.
  void* declared(const void* key, std::size_t bytes);
  /// The array of the size that the launch gave. fail() if that was none.
  void* dynamic() const;

  static constexpr std::size_t kMaxDeclared = std::size_t{48} << 10;
  /// The bound of sm_90 includes what is declared.
  static constexpr std::size_t kMax = std::size_t{227} << 10;

 private:
  struct Array {
    const void* key;
    std::byte* begin;
    std::size_t bytes;
  };
  std::byte* add(const void* key, std::size_t bytes);

  std::vector<std::byte> memory_;
  std::size_t used_ = 0, declared_bytes_ = 0;
  std::vector<Array> arrays_;
  std::byte* dynamic_ = nullptr;
};

}  // namespace emulated_cuda
