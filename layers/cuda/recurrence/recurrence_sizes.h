#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/ops/recurrence.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Sizes of a block of a fused step: its channels, the utterances of one of its tiles, and the
/// numbers of a slab in which it sums.
inline constexpr std::int64_t kRecurrenceChannels = 16, kRecurrenceUtterances = 8,
                              kRecurrenceSlab = 32;
/// Max tiles of utterances whose sums fit a block's registers.
inline constexpr int kMaxTiles = 4, kMaxTilesInFp32 = 2;

/// Returns true if a time step is one kernel, which multiplies and computes the gates. Otherwise it
/// is a product of cuBLASLt and a kernel for the gates. Every kMaxTiles tiles of utterances read
/// all weights again, so that many utterances are faster by cuBLASLt: docs/design/kernels.md.
[[nodiscard]] bool is_fused(const RecurrenceShape& shape, DType compute);

/// Sizes of a recurrence's workspace on a CUDA device. In a fused step everything is padded with
/// zeros: utterances to tiles, and inner indices to slabs.
struct RecurrenceSizes {
  RecurrenceSizes(const RecurrenceShape& shape, DType compute);

  bool fused;
  std::int64_t directions, utterances, hidden;
  std::int64_t state_width;    // stride between utterances' h
  std::int64_t product_width;  // the same for U h, and for the gradient of U h + c
  std::int64_t buffers;        // 2 if one is written while the other is read

  std::int64_t states() const { return directions * utterances * state_width; }
  std::int64_t products() const { return directions * utterances * product_width; }
  /// Returns the numbers of U as fused steps read it: `gates` rows per channel forward, and one row
  /// of Uᵀ per channel backward.
  std::int64_t packed(std::int64_t rows_of_channel, std::int64_t inner_width) const;
};

// Parts of the workspace. Suffixes are those of RecurrenceKept. N is the utterances in the order of
// FrameOrder, the first of which take part in a step. B is `buffers`.

struct RecurrenceForwardWorkspace {
  RecurrenceForwardWorkspace(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  RecurrenceSizes sizes;
  std::int64_t* first_rows_DN;  // row at which each direction enters each utterance
  std::byte* states_BDNH;       // h, of the compute dtype
  float* cells_DNH;             // s
  float* u_DNG;                 // U h, if steps are not fused
  std::size_t zeroed;           // bytes from states_BDNH on that start as zeros
  std::byte* middles_NH;        // the second direction's h' of middle frames
  std::byte* packed;            // U, if steps are fused
};

struct RecurrenceBackwardWorkspace {
  RecurrenceBackwardWorkspace(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  RecurrenceSizes sizes;
  std::int64_t* first_rows_DN;
  float *dh_DNH, *ds_DNH;  // gradients of the states
  std::byte* g_BDNG;       // gradients of U h + c, of the compute dtype
  std::size_t zeroed;      // bytes from dh_DNH on that start as zeros
  std::byte* packed;       // Uᵀ, if steps are fused
};

Workspace recurrence_workspace(const RecurrenceShape& shape, DType compute);

}  // namespace penstock::layers::cuda
