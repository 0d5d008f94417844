#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "layers/cpu/vector.h"

namespace penstock::layers {

/// Loads `count` logits; the other lanes become -inf, which adds nothing to a softmax.
template <class T>
[[gnu::always_inline]] inline Vector<T> load_logits(const T* from, std::int64_t count) {
  Vector<T> x = load(from, count);
  for (std::int64_t lane = count; lane < kLanes<T>; ++lane)
    x[lane] = -std::numeric_limits<T>::infinity();
  return x;
}

/// Returns the largest of `count` logits, 1 or more. Taken out of a softmax, it keeps exponentials
/// from overflowing.
template <class T>
T largest_logit(const T* logits, std::int64_t count) {
  Vector<T> tops = load_logits(logits, std::min(count, kLanes<T>));
  for_each_vector<T>(count, [&](std::int64_t k, auto lanes) {
    const Vector<T> x = load_logits(logits + k, lanes);
    tops = x > tops ? x : tops;
  });
  T top = tops[0];
  for (std::int64_t lane = 1; lane < kLanes<T>; ++lane) top = tops[lane] > top ? tops[lane] : top;
  return top;
}

}  // namespace penstock::layers
