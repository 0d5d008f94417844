#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "layers/cpu/vector.h"
#include "layers/cpu/vector_math.h"

namespace penstock::layers {

/// Turns numbers of a row into their softmax in place. Returns log Σ e^x. The largest number is
/// subtracted first, so that no exponential overflows. Lanes after the end would be e^-largest, and
/// are cleared before they count. Sums go lane by lane from the row's start, so they depend on
/// neither neighbours nor address.
template <class T>
T softmax_row(T* row, std::int64_t count) {
  const T largest = *std::max_element(row, row + count);
  Vector<T> sums{};
  for_each_vector<T>(count, [&](std::int64_t c, auto lanes) {
    Vector<T> e = exp(load<T>(row + c, lanes) - largest);
    if (lanes < kLanes<T>)
      for (std::int64_t lane = lanes; lane < kLanes<T>; ++lane) e[lane] = 0;
    sums += e;
    store<T>(row + c, e, lanes);
  });
  T sum = 0;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) sum += sums[lane];
  const T inverse = 1 / sum;
  for (std::int64_t c = 0; c < count; ++c) row[c] *= inverse;
  return largest + std::log(sum);
}

}  // namespace penstock::layers
