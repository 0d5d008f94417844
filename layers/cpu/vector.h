#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace penstock::layers {

/// 32 bytes of numbers as one value (8 floats or 4 doubles): a vector type of GCC and Clang, with
/// the operators of numbers, and with lane-wise comparison and selection.
template <class T>
struct VectorType;
template <>
struct VectorType<float> {
  typedef float Type __attribute__((vector_size(32)));
};
template <>
struct VectorType<double> {
  typedef double Type __attribute__((vector_size(32)));
};
template <class T>
using Vector = typename VectorType<T>::Type;

template <class T>
inline constexpr std::int64_t kLanes = 32 / sizeof(T);

/// Returns `count` rounded up to whole vectors.
template <class T>
constexpr std::int64_t whole_vectors(std::int64_t count) {
  return (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

/// Loads the first `count` lanes from memory of any alignment; the others become 0.
template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from, std::int64_t count = kLanes<T>) {
  Vector<T> v = {};
  std::memcpy(&v, from, static_cast<std::size_t>(count) * sizeof(T));
  return v;
}

template <class T>
[[gnu::always_inline]] inline void store(T* to, const Vector<T>& v,
                                         std::int64_t count = kLanes<T>) {
  std::memcpy(to, &v, static_cast<std::size_t>(count) * sizeof(T));
}

/// Calls use(first, lanes) for whole vectors, with `lanes` as a constant in its type, and then for
/// the rest, with `lanes` as a number.
template <class T, class Use>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t count, const Use& use) {
  std::int64_t first = 0;
  for (; first + kLanes<T> <= count; first += kLanes<T>)
    use(first, std::integral_constant<std::int64_t, kLanes<T>>{});
  if (first < count) use(first, count - first);
}

}  // namespace penstock::layers
