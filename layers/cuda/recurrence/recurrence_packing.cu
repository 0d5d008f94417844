#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/products/tf32.h"
#include "layers/cuda/recurrence/recurrence_packing.h"

namespace penstock::layers::cuda {
namespace {

/// Strides of a factor's numbers in w_DGH.
struct Strides {
  std::int64_t direction, row, channel, inner;
  std::int64_t inner_count;  // without padding
};

/// Packs a factor, one thread for each packed number. Channels after the last one, and inner
/// indices of the padding, become 0 and add nothing.
template <class T, class Factor>
__global__ void pack(const T* w_DGH, PackedFactor factor, Strides from, std::int64_t tiles,
                     Factor* packed) {
  const std::int64_t i = grid_thread(), numbers = factor.numbers_of_tile();
  if (i >= factor.directions * tiles * numbers) return;
  const std::int64_t tile = i / numbers % tiles, direction = i / numbers / tiles;
  const PackedNumber at = packed_number<Factor>(factor, i % numbers);
  const std::int64_t channel = tile * kRecurrenceChannels + at.channel;
  const bool there = channel < factor.hidden && at.inner < from.inner_count;
  const float number = there ? to_float(w_DGH[direction * from.direction + at.row * from.row +
                                              channel * from.channel + at.inner * from.inner])
                             : 0;
  packed[i] = from_float<Factor>(number);
}

template <class T, class Factor>
PackedFactor run(cudaStream_t stream, const T* w_DGH, const PackedFactor& factor,
                 const Strides& from, Factor* packed) {
  launch(stream, grid_over(factor.numbers()), pack<T, Factor>, w_DGH, factor, from, factor.tiles(),
         packed);
  return factor;
}

}  // namespace

// Forward multiplies U, [gate][channel][inner channel], by h. Each channel has a row for each gate.
template <class T, class Factor>
PackedFactor pack_forward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                          int gates, Factor* packed) {
  const std::int64_t hidden = sizes.hidden;
  return run(stream, w_DGH,
             {.hidden = hidden,
              .inner_width = sizes.state_width,
              .directions = static_cast<int>(sizes.directions),
              .rows = gates},
             {.direction = gates * hidden * hidden,
              .row = hidden * hidden,
              .channel = hidden,
              .inner = 1,
              .inner_count = hidden},
             packed);
}

// Backward multiplies Uᵀ by the gradients of all gates. The inner index runs over the rows of U, a
// whole row of memory apart, and a channel is a column.
template <class T, class Factor>
PackedFactor pack_backward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                           int gates, Factor* packed) {
  const std::int64_t hidden = sizes.hidden;
  return run(stream, w_DGH,
             {.hidden = hidden,
              .inner_width = sizes.product_width,
              .directions = static_cast<int>(sizes.directions),
              .rows = 1},
             {.direction = gates * hidden * hidden,
              .row = 0,
              .channel = 1,
              .inner = hidden,
              .inner_count = gates * hidden},
             packed);
}

#define PACKS(T, Factor)                                                                  \
  template PackedFactor pack_forward(cudaStream_t, const T*, const RecurrenceSizes&, int, \
                                     Factor*);                                            \
  template PackedFactor pack_backward(cudaStream_t, const T*, const RecurrenceSizes&, int, Factor*)
PACKS(float, float);
PACKS(float, Tf32);
PACKS(__half, __half);
PACKS(__nv_bfloat16, __nv_bfloat16);
#undef PACKS

}  // namespace penstock::layers::cuda
