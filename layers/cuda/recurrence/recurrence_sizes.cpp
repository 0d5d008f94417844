#include "layers/cuda/recurrence/recurrence_sizes.h"

namespace penstock::layers::cuda {
namespace {

constexpr std::int64_t kMaxFused = 64, kMaxFusedInFp32 = 16;  // max utterances of a fused step

std::int64_t padded(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

std::int64_t bytes(std::int64_t count, DType dtype) {
  return count * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t utterances_of(const RecurrenceShape& shape) {
  return static_cast<std::int64_t>(shape.lengths.size());
}

}  // namespace

bool is_fused(const RecurrenceShape& shape, DType compute) {
  if (compute == DType::f32) return utterances_of(shape) <= kMaxFusedInFp32;
  return utterances_of(shape) <= kMaxFused;
}

// Fused steps read whole tiles of utterances and whole slabs of channels. The surplus is zeroed
// before the first step, and no step writes it. They need two buffers, since a block must not
// overwrite a state that another block of the same step still reads.
RecurrenceSizes::RecurrenceSizes(const RecurrenceShape& shape, DType compute)
    : fused(is_fused(shape, compute)),
      directions(shape.directions),
      utterances(utterances_of(shape)),
      hidden(shape.hidden),
      state_width(shape.hidden),
      product_width(shape.gates() * shape.hidden),
      buffers(1) {
  if (!fused) return;
  const int max_tiles = compute == DType::f32 ? kMaxTilesInFp32 : kMaxTiles;
  const bool is_one_tile = utterances <= kRecurrenceUtterances;
  utterances = padded(utterances, kRecurrenceUtterances * (is_one_tile ? 1 : max_tiles));
  state_width = padded(state_width, kRecurrenceSlab);
  product_width = padded(product_width, kRecurrenceSlab);
  buffers = 2;
}

std::int64_t RecurrenceSizes::packed(std::int64_t rows_of_channel, std::int64_t inner_width) const {
  if (!fused) return 0;
  return directions * padded(hidden, kRecurrenceChannels) * rows_of_channel * inner_width;
}

// States, cells and U h are neighbours, so that one call zeroes them. All are 0 before the first
// frame, so the first step needs no product if steps are not fused.
RecurrenceForwardWorkspace::RecurrenceForwardWorkspace(Scratch& scratch,
                                                       const RecurrenceShape& shape, DType compute)
    : sizes(shape, compute) {
  first_rows_DN = scratch.take<std::int64_t>(sizes.directions * sizes.utterances);
  const std::size_t first = scratch.used();
  states_BDNH = scratch.take<std::byte>(bytes(sizes.buffers * sizes.states(), compute));
  cells_DNH = scratch.take<float>(shape.kind == RecurrenceKind::lstm ? sizes.states() : 0);
  u_DNG = scratch.take<float>(sizes.fused ? 0 : sizes.products());
  zeroed = scratch.used() - first;
  const std::int64_t middles = sizes.directions == 2 ? sizes.utterances * sizes.hidden : 0;
  middles_NH = scratch.take<std::byte>(bytes(middles, compute));
  packed = scratch.take<std::byte>(bytes(sizes.packed(shape.gates(), sizes.state_width), compute));
}

// All gradients start as 0: none comes back from after an utterance's last frame.
RecurrenceBackwardWorkspace::RecurrenceBackwardWorkspace(Scratch& scratch,
                                                         const RecurrenceShape& shape,
                                                         DType compute)
    : sizes(shape, compute) {
  first_rows_DN = scratch.take<std::int64_t>(sizes.directions * sizes.utterances);
  const std::size_t first = scratch.used();
  dh_DNH = scratch.take<float>(sizes.states());
  ds_DNH = scratch.take<float>(shape.kind == RecurrenceKind::lstm ? sizes.states() : 0);
  g_BDNG = scratch.take<std::byte>(bytes(sizes.buffers * sizes.products(), compute));
  zeroed = scratch.used() - first;
  packed = scratch.take<std::byte>(bytes(sizes.packed(1, sizes.product_width), compute));
}

Workspace recurrence_workspace(const RecurrenceShape& shape, DType compute) {
  Scratch forward, backward;
  RecurrenceForwardWorkspace(forward, shape, compute);
  RecurrenceBackwardWorkspace(backward, shape, compute);
  return {.forward = forward.used(), .backward_input = backward.used()};
}

}  // namespace penstock::layers::cuda
