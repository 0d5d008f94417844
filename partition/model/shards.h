#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/layer.h"

namespace penstock::partition {

/// Among how many replicas the update of a stage is shared out: each keeps the optimizer's state,
/// and where layers compute in halves the masters, of its own elements only (ZeRO's first stage:
/// Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
/// Models").
struct Sharing {
  int replicas = 1;                     // 1: a rank updates all of its stage
  std::int64_t bucket_bytes = 4 << 20;  // of gradients that are added at once
};

/// Which elements of a stage's arena each replica owns. The arena is cut into buckets and each
/// bucket among all replicas, so that all of them add gradients while backward goes on. Buckets and
/// ranges begin at norm blocks of parameters, so that no sum over a block is split.
struct Shards {
  std::vector<std::int64_t> bucket_ends;  // elements
  /// [bucket][place], elements of the arena: replicas stand in the order of bit_reversed(), in
  /// which comm's sum_rounds() sends neighbours together.
  std::vector<std::vector<std::int64_t>> range_ends;
  std::vector<int> places;  // of each replica

  /// The elements [first, second) of a bucket that a replica owns.
  std::pair<std::int64_t, std::int64_t> range(std::size_t bucket, int replica) const;
};

/// Layers that are frozen whole have no part in it. Buckets as full as whole blocks allow, one
/// block at least; ranges such that all replicas own nearly as much, to a few blocks. Where there
/// are fewer blocks than replicas, some own nothing. `dtype` is the arena's.
Shards share_out(std::span<const layers::LayerPlan> layers, layers::DType dtype,
                 const Sharing& sharing);

}  // namespace penstock::partition
