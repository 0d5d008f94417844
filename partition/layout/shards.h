#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/layer.h"

namespace penstock::partition {

/// Sharing says among how many replicas the update of a stage is divided. Each replica keeps the
/// optimizer's state of its own elements only, and their masters if layers compute in half
/// precision. This is stage 1 of ZeRO (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
/// Training Trillion Parameter Models").
struct Sharing {
  int replicas = 1;                     // 1: a rank updates its whole stage
  std::int64_t bucket_bytes = 4 << 20;  // bytes of gradients that are reduced at once
};

/// Shards says which elements of a stage's arena each replica owns. The arena is cut into buckets,
/// and each bucket is cut among all replicas. So all replicas reduce gradients while backward runs.
/// Buckets and ranges begin at norm blocks of parameters, so no sum over a block is split.
struct Shards {
  std::vector<std::int64_t> bucket_ends;  // in elements
  /// [bucket][place], elements of the arena. Replicas are in the order of bit_reversed(), in which
  /// comm's sum_rounds() sends neighbours together.
  std::vector<std::vector<std::int64_t>> range_ends;
  std::vector<int> places;  // place of each replica

  /// Returns the elements [first, second) of a bucket that a replica owns.
  std::pair<std::int64_t, std::int64_t> range(std::size_t bucket, int replica) const;
};

/// Divides the arena. Layers that are frozen as a whole are left out. Buckets are as full as whole
/// blocks allow, and hold at least one block. All replicas own about as much, to within a few
/// blocks; with fewer blocks than replicas, some own nothing. `dtype` is the arena's type.
Shards share_out(std::span<const layers::LayerPlan> layers, layers::DType dtype,
                 const Sharing& sharing);

}  // namespace penstock::partition
