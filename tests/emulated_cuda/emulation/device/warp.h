#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/emulated_cuda/emulation/warp.h"

namespace emulated_cuda {

int lane_of_thread();
/// Gives `value` to the other lanes and takes lane `source`'s; keeps its own where `source` is
/// none. fail() where that lane does not take part.
std::uint64_t exchange(const WarpCall& call, std::uint64_t value, int source);
/// The lanes that take part with a value other than 0.
unsigned vote(const WarpCall& call, bool value);

template <class T>
T exchange(const WarpCall& call, T value, int source) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(call, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline constexpr int kNoLane = -1;

}  // namespace emulated_cuda

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int line = __builtin_LINE()) {
  return emulated_cuda::exchange<T>({"__shfl_sync", mask, line}, value, source & 31);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int line = __builtin_LINE()) {
  return emulated_cuda::exchange<T>({"__shfl_xor_sync", mask, line}, value,
                                    emulated_cuda::lane_of_thread() ^ distance);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int line = __builtin_LINE()) {
  const int source = emulated_cuda::lane_of_thread() + static_cast<int>(distance);
  return emulated_cuda::exchange<T>({"__shfl_down_sync", mask, line}, value,
                                    source < 32 ? source : emulated_cuda::kNoLane);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int line = __builtin_LINE()) {
  const int source = emulated_cuda::lane_of_thread() - static_cast<int>(distance);
  return emulated_cuda::exchange<T>({"__shfl_up_sync", mask, line}, value,
                                    source >= 0 ? source : emulated_cuda::kNoLane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return emulated_cuda::vote({"__ballot_sync", mask, line}, predicate != 0);
}

inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return emulated_cuda::vote({"__any_sync", mask, line}, predicate != 0) != 0;
}

inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return emulated_cuda::vote({"__all_sync", mask, line}, predicate == 0) == 0;
}
