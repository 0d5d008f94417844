#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/ops/recurrence.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// A block of a fused step has so many channels, and utterances in tiles of so many. It sums in
/// slabs of so many numbers.
inline constexpr std::int64_t kRecurrenceChannels = 16, kRecurrenceUtterances = 8,
                              kRecurrenceSlab = 32;
/// Most tiles of utterances whose sums fit a block's registers.
inline constexpr int kMostTiles = 4, kMostTilesInFp32 = 2;

/// Whether a time step is one kernel, which multiplies and computes the gates, and not a product of
/// cuBLASLt and a kernel for the gates. Each kMostTiles tiles of utterances read all weights
/// again, so that many utterances are better off with cuBLASLt: docs/design/recurrence.md.
[[nodiscard]] bool is_fused(const RecurrenceShape& shape, DType compute);

/// Sizes of a recurrence's workspace on a CUDA device. In a fused step everything is padded with
/// zeros: utterances to tiles, and what is summed over to slabs.
struct RecurrenceSizes {
  RecurrenceSizes(const RecurrenceShape& shape, DType compute);

  bool fused;
  std::int64_t directions, utterances, hidden;
  std::int64_t state_width;    // of an utterance's h
  std::int64_t product_width;  // of its U h, and of the gradient of U h + c
  std::int64_t buffers;        // 2 where one is written while all of the other is read

  std::int64_t states() const { return directions * utterances * state_width; }
  std::int64_t products() const { return directions * utterances * product_width; }
  /// Of U as fused steps read it: forward `gates` rows a channel; backward Uᵀ, one row a channel.
  std::int64_t packed(std::int64_t rows_of_channel, std::int64_t inner_width) const;
};

// Parts of the workspace. Besides the suffixes of RecurrenceKept, N is the utterances in the order
// of FrameOrder: the first so many of them take part in a step. B is `buffers`.

struct RecurrenceForwardRoom {
  RecurrenceForwardRoom(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  RecurrenceSizes sizes;
  std::int64_t* first_rows_DN;  // where each direction enters each utterance
  std::byte* states_BDNH;       // h, of the compute dtype
  float* cells_DNH;             // s
  float* u_DNG;                 // U h, where steps are not fused
  std::size_t zeroed;           // bytes from states_BDNH on: what a recurrence starts from
  std::byte* middles_NH;        // of the second direction, of the compute dtype
  std::byte* packed;            // U, where steps are fused
};

struct RecurrenceBackwardRoom {
  RecurrenceBackwardRoom(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  RecurrenceSizes sizes;
  std::int64_t* first_rows_DN;
  float *dh_DNH, *ds_DNH;  // gradients of the states
  std::byte* g_BDNG;       // gradients of U h + c, of the compute dtype
  std::size_t zeroed;      // bytes from dh_DNH on
  std::byte* packed;       // Uᵀ, where steps are fused
};

Workspace recurrence_workspace(const RecurrenceShape& shape, DType compute);

}  // namespace penstock::layers::cuda
