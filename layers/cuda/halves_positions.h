#pragma once

#include "layers/cuda/attention_halves.h"

namespace penstock::layers::cuda {

/// The shared memory for relative positions of a warp that owns 16 queries and meets kHalvesColumns
/// keys.
template <class T, int kWidth>
struct QueryPositions {
  HalvesRow<T, kWidth>* distances;  // kHalvesBandRows of r
  BandRow<kDistanceBlocks>* band;   // of the warp
  float *key_biases, *distance_biases;

  /// Loads the rows of r for the distances between the block's tile and the keys from `key` on.
  /// Also loads the biases u · k and v · r. All threads of the block must call it.
  __device__ void load(const AttentionHead<T>& of, std::int64_t key) const {
    const std::int64_t x = of.in.longest - (of.tile.first + kHalvesTile - key);
    load_rows(of.in, distance_rows(of), x, kHalvesBandRows, distances);
    fill(key_biases, kHalvesColumns, [&](int c) { return key_bias(of, key + c); });
    fill(distance_biases, kHalvesBandRows, [&](int r) { return distance_bias(of, x + r); });
  }

  /// Adds (q + v) · r and u · k to the products q · k. All lanes of the warp must call it.
  __device__ void add(const OwnRows<T, kWidth>& queries,
                      FragmentC (&products)[kColumnTiles]) const {
    for (int block = 0; block < kDistanceBlocks; ++block)
      fill_band_block(queries, distances + own(), distance_biases + own(), block, band);
    sync_warp();
    for_numbers([&](int n, int e, int row, int column) {
      products[n].values[e] += key_biases[column] + band[row].numbers[15 - row + column];
    });
  }

  /// Adds Σ ds · r to dq. All lanes of the warp must call it, after add(), whose band it
  /// overwrites.
  __device__ void multiply(const FragmentC (&ds)[kColumnTiles], FragmentC (&dq)[kWidth / 8]) const {
    for_numbers([&](int n, int e, int row, int column) {
      band[row].numbers[15 - row + column] = ds[n].values[e];
    });
    for (int i = thread_x() % kWarp; i < 16 * 16; i += kWarp) {  // distances that no pair has
      const int row = i / 16, place = i % 16;
      band[row].numbers[place < 15 - row ? place : place + kHalvesColumns] = 0;
    }
    sync_warp();
    for (int block = 0; block < kDistanceBlocks; ++block) {
      const float* const at = band->numbers + 16 * block;
      const FragmentA a = load_rounded_a<T>(at, BandRow<kDistanceBlocks>::kPitch);
      multiply_chunk(a, distances + own() + 16 * block, dq);
    }
  }

 private:
  /// Returns the first row of r that the warp's queries meet.
  __device__ static int own() { return kHalvesTile - 16 - 16 * warp_of_block(); }
};

}  // namespace penstock::layers::cuda
