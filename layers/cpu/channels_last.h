#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Copies a depthwise weight [C, K…] as [K…, C] to `workspace`, so that loops run over channels,
/// and returns the copy.
template <class T>
T* channels_last(const Tensor& weight_CK, std::span<std::byte> workspace) {
  const std::int64_t C = weight_CK.shape[0], K = weight_CK.size() / (C > 0 ? C : 1);
  const T* from = weight_CK.as<T>();
  T* to = reinterpret_cast<T*>(workspace.data());
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t k = 0; k < K; ++k) to[k * C + c] = from[c * K + k];
  return to;
}

/// Adds sums [K…, C] to a gradient [C, K…].
template <class T>
void add_channels_first(const T* sums_KC, const Tensor& d_weight_CK) {
  const std::int64_t C = d_weight_CK.shape[0], K = d_weight_CK.size() / (C > 0 ? C : 1);
  T* d_weight = d_weight_CK.as<T>();
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t k = 0; k < K; ++k) d_weight[c * K + k] += sums_KC[k * C + c];
}

}  // namespace penstock::layers
