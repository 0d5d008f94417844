#pragma once

#include <algorithm>

#include "layers/backend.h"
#include "layers/ops/conv1d.h"

namespace penstock::layers {

/// Taps that share one product, because their inputs are adjacent in memory.
struct Conv1dTaps {
  std::int64_t first, count;
};

/// Calls use(Conv1dTaps) for the whole kernel. One product takes as many taps as the stride has
/// frames, so that its rows do not overlap. With padding, dilation or groups, each tap is a product
/// of its own.
template <class Use>
void for_each_taps(const Conv1dGeometry& g, const Use& use) {
  const bool joined = g.groups == 1 && g.dilation == 1 && g.left == 0 && g.right == 0;
  const std::int64_t max = joined ? g.stride : 1;
  for (std::int64_t first = 0; first < g.kernel; first += max)
    use(Conv1dTaps{first, std::min(max, g.kernel - first)});
}

/// The rows of an utterance that some taps connect: `count` outputs from `first_out` on, and the
/// input rows first_in, first_in + stride, …
struct Conv1dRows {
  Conv1dRows(const Conv1dGeometry& g, const Conv1dTaps& taps, std::int64_t frames) {
    const std::int64_t shift = taps.first * g.dilation - g.left;  // input of output 0
    const std::int64_t before = std::max<std::int64_t>(0, -shift);
    first_out = (before + g.stride - 1) / g.stride;
    // The last tap of the last output lies within the utterance.
    const std::int64_t room = frames - taps.count - shift;
    count = std::max<std::int64_t>(
        0, (room < 0 ? 0 : std::min(g.outputs(frames), room / g.stride + 1)) - first_out);
    first_in = first_out * g.stride + shift;
  }
  std::int64_t first_out, count, first_in;
};

/// Returns the place where the weights of some taps and a group begin in the layout
/// [taps][out][tap][in].
inline std::int64_t place_of(const Conv1dGeometry& g, const Conv1dTaps& taps, std::int64_t group) {
  return g.group_in() * (taps.first * g.out_channels + taps.count * group * g.group_out());
}

/// Calls use(place in [out, in, kernel], place in [taps][out][tap][in]) for every weight.
template <class Use>
void for_each_weight(const Conv1dGeometry& g, const Use& use) {
  const std::int64_t in = g.group_in();
  for_each_taps(g, [&](const Conv1dTaps& taps) {
    std::int64_t to = taps.first * g.out_channels * in;
    for (std::int64_t o = 0; o < g.out_channels; ++o)
      for (std::int64_t k = taps.first; k < taps.first + taps.count; ++k)
        for (std::int64_t c = 0; c < in; ++c) use((o * in + c) * g.kernel + k, to++);
  });
}

/// One product of a convolution: rows of an utterance, channels of a group, some taps.
struct Conv1dProduct {
  std::int64_t rows;
  std::int64_t x, y, weight;  // the first number of each
  std::int64_t columns;       // of x and of a weight's row: taps.count · group_in()
};

/// Calls use(Conv1dProduct) for all products that the utterances need, in the order of taps, then
/// groups.
template <class Use>
void for_each_product(const Conv1dGeometry& g, const Use& use) {
  std::int64_t in_row = 0, out_row = 0;
  for (const std::int64_t frames : g.lengths) {
    for_each_taps(g, [&](const Conv1dTaps& taps) {
      const Conv1dRows rows(g, taps, frames);
      if (rows.count == 0) return;
      for (std::int64_t group = 0; group < g.groups; ++group)
        use(Conv1dProduct{.rows = rows.count,
                          .x = (in_row + rows.first_in) * g.in_channels + group * g.group_in(),
                          .y = (out_row + rows.first_out) * g.out_channels + group * g.group_out(),
                          .weight = place_of(g, taps, group),
                          .columns = taps.count * g.group_in()});
    });
    in_row += frames;
    out_row += g.outputs(frames);
  }
}

// Convolutions with a stride above 1 and a kernel of one tap more, without groups, dilation or
// padding, as in wav2vec 2.0's front end. Their first and last tap see the same frames, one output
// apart. These two taps take four products for three outputs (two_taps.h); the taps between take
// one product for each output.

/// Returns true if the geometry is of this kind.
bool has_two_taps(const Conv1dGeometry& geometry);

template <class T>
void two_taps_forward(Stream& stream, const Conv1dForward& op);
template <class T>
void two_taps_backward_input(Stream& stream, const Conv1dBackwardInput& op);
template <class T>
void two_taps_backward_weight(Stream& stream, const Conv1dBackwardWeight& op);

/// Returns the bytes of workspace that these take.
template <class T>
Workspace two_taps_workspace(const Conv1dGeometry& geometry);

}  // namespace penstock::layers
