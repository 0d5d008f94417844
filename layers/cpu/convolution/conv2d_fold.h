#pragma once

#include <cstdint>
#include <vector>

#include "layers/cpu/convolution/fft8.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// A strided correlation along one axis as a sum of `stride` unstrided ones: input position
/// stride·m + phase - padding is slot m of that phase, kernel tap stride·j + phase is its tap j,
/// and output n is the sum over phases and j of slot n + j times tap j.
struct Conv2dFold {
  explicit Conv2dFold(const Conv2dAxis& axis)
      : axis(axis), taps((axis.kernel + axis.stride - 1) / axis.stride) {}

  /// Slots that the outputs read.
  std::int64_t slots(std::int64_t positions) const { return axis.outputs(positions) + taps - 1; }
  /// Of these, how many at either end are padding in every phase and no more than the outputs leave
  /// free: what comes next on a line, or around a circle, may share them.
  std::int64_t shared(std::int64_t positions) const;
  /// Input positions that lie in a slot; a stride may leave some behind the last.
  std::int64_t read(std::int64_t positions) const;

  Conv2dAxis axis;
  std::int64_t taps;
};

/// The sizes of a convolution by Fourier transforms: over frequency of whole frames, over time of
/// overlapping tiles. Slots that are padding at both ends of the frequencies share their place on
/// the transform's circle, which is no shorter than the kernel; utterances lie on one time line and
/// share the padding between them.
struct Conv2dFold2d {
  static constexpr std::int64_t kTile = 32;

  explicit Conv2dFold2d(const Conv2dGeometry& geometry);

  Conv2dFold frequency, time;
  std::int64_t length;                 // of the transform over frequency; 0: too long
  std::int64_t bins;                   // length / 2 + 1
  std::int64_t channels;               // in, of all phases: [time][frequency][channel]
  std::int64_t in_groups, out_groups;  // channels / 8, rounded up
  std::int64_t valid;                  // outputs of a tile; not positive: kernel too long
  std::vector<std::int64_t> starts;    // slot of each utterance on the line
  std::int64_t tiles, rows;            // of the line; rows are even, and cover all tiles
};

/// Which frame lies in each slot of the line; -1 where padding does.
struct Conv2dLine {
  Conv2dLine(const Conv2dGeometry& geometry, const Conv2dFold2d& fold);

  std::vector<std::int64_t> in;   // [row][phase]
  std::vector<std::int64_t> out;  // [row]
  bool covers_input;              // no frame of the input is left out
};

}  // namespace penstock::layers
