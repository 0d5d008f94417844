#include "layers/cpu/convolution/conv2d_fold.h"

#include <algorithm>

namespace penstock::layers {

// At the front, padding / stride slots hold no input in any phase. At the end it is those after the
// last filled one. At most taps - 1 are shared, since the outputs of an utterance have places of
// their own on the line.
std::int64_t Conv2dFold::shared(std::int64_t positions) const {
  const std::int64_t leading = axis.padding / axis.stride;
  const std::int64_t filled = (positions + axis.padding + axis.stride - 1) / axis.stride;
  const std::int64_t trailing = std::max<std::int64_t>(0, slots(positions) - filled);
  return std::min({leading, trailing, taps - 1});
}

// The last slot ends with position slots · stride - padding - 1.
std::int64_t Conv2dFold::read(std::int64_t positions) const {
  return std::min(positions, slots(positions) * axis.stride - axis.padding);
}

// A tile of kTile slots gives the outputs that see no slot after it (overlap-save). With
// DeepSpeech2's first kernel, 11 frames and stride 2, a tile of 32 slots has 6 taps and 27 such
// outputs.
Conv2dFold2d::Conv2dFold2d(const Conv2dGeometry& g)
    : frequency(g.frequency),
      time(g.time),
      length(Fft8::length_for(std::max(
          frequency.taps, frequency.slots(g.in_frequencies) - frequency.shared(g.in_frequencies)))),
      bins(length / 2 + 1),
      channels(g.time.stride * g.frequency.stride * g.in_channels),
      in_groups((channels + 7) / 8),
      out_groups((g.out_channels + 7) / 8),
      valid(kTile - time.taps + 1),
      tiles(0),
      rows(0) {
  std::int64_t start = 0, end = 0;
  for (std::int64_t n : g.lengths) {
    starts.push_back(start);
    end = start + time.axis.outputs(n);
    start += time.slots(n) - time.shared(n);
  }
  if (valid <= 0) return;
  tiles = (end + valid - 1) / valid;
  rows = (tiles * valid + time.taps) / 2 * 2;  // tiles · valid + taps - 1 at least
}

// Input t of an utterance lies padding + t phases after the start of its first slot.
Conv2dLine::Conv2dLine(const Conv2dGeometry& g, const Conv2dFold2d& fold)
    : in(static_cast<std::size_t>(fold.rows * g.time.stride), -1),
      out(static_cast<std::size_t>(fold.rows), -1),
      covers_input(true) {
  std::int64_t first_in = 0, next_out = 0;
  for (std::size_t u = 0; u < g.lengths.size(); ++u) {
    const std::int64_t read = fold.time.read(g.lengths[u]);
    for (std::int64_t t = 0; t < read; ++t)
      in[static_cast<std::size_t>(fold.starts[u] * g.time.stride + g.time.padding + t)] =
          first_in + t;
    for (std::int64_t t = 0; t < g.time.outputs(g.lengths[u]); ++t)
      out[static_cast<std::size_t>(fold.starts[u] + t)] = next_out++;
    covers_input &= read == g.lengths[u];
    first_in += g.lengths[u];
  }
}

}  // namespace penstock::layers
