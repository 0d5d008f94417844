#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tests/emulated_cuda/emulation/arena.h"

namespace emulated_cuda {

inline constexpr int kDevices = 4;
/// Memory::kind_of returns this name for everything that CUDA does not know of.
inline constexpr const char* kHostMemory = "pageable memory of the host";

/// All memory that CUDA knows of. Devices' is out of the host's reach but while an operation runs,
/// and then only that of the operation's devices.
class Memory {
 public:
  Memory();

  /// Each device has this many bytes.
  static constexpr std::size_t kBytes = std::size_t{16} << 30;

  Arena& device(int number) { return devices_[static_cast<std::size_t>(number)]; }
  Arena& pinned() { return pinned_; }

  /// The devices whose bit is set may be touched, the others not.
  void open_only(unsigned devices);

  /// fail() unless all `bytes` are allocated memory of that device. `what`: "the destination".
  void expect_device(int number, const void* begin, std::size_t bytes, const char* what);
  /// fail() unless they are pinned memory of the host.
  void expect_pinned(const void* begin, std::size_t bytes, const char* what);
  /// Whether a word that is a pointer or something else can be the former: where it would point to
  /// memory of CUDA's, something is allocated there. What was freed shows when it is touched.
  bool may_be_pointer(const void* word) const;
  /// Says which memory the address lies in, for errors.
  std::string kind_of(const void* address) const;

 private:
  std::array<Arena, kDevices> devices_;
  Arena pinned_;
};

/// Makes a touch of closed memory, and of memory that is none, an error that says so.
void catch_bad_addresses();

}  // namespace emulated_cuda
