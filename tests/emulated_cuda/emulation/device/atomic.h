#pragma once

#include <type_traits>

#include "tests/emulated_cuda/emulation/device/words.h"

namespace emulated_cuda {

/// Another thread may go first, and the access is known to be atomic.
void before_atomic(const void* place, std::size_t bytes);

template <class T, class Change>
EMULATED_CUDA_UNOBSERVED T change_atomically(T* place, Change change) {
  before_atomic(place, sizeof(T));
  const T old = *place;
  *place = change(old);
  return old;
}

}  // namespace emulated_cuda

// Each returns what was there before.

template <class T>
T atomicAdd(T* place, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place,
                                          [=](T old) { return static_cast<T>(old + value); });
}

template <class T>
T atomicMax(T* place, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place, [=](T old) { return old > value ? old : value; });
}

template <class T>
T atomicMin(T* place, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place, [=](T old) { return old < value ? old : value; });
}

template <class T>
T atomicOr(T* place, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place, [=](T old) { return old | value; });
}

template <class T>
T atomicExch(T* place, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place, [=](T) { return value; });
}

template <class T>
T atomicCAS(T* place, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return emulated_cuda::change_atomically(place,
                                          [=](T old) { return old == expected ? value : old; });
}
