#pragma once

#include <cstdint>
#include <vector>

#include "layers/cpu/convolution/fft8.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {

/// A strided correlation along one axis as a sum of `stride` unstrided ones. Input position
/// stride·m + phase - padding is slot m of that phase, and kernel tap stride·j + phase is its tap
/// j. Output n is the sum over phases and j of slot n + j times tap j.
struct Conv2dFold {
  explicit Conv2dFold(const Conv2dAxis& axis)
      : axis(axis), taps((axis.kernel + axis.stride - 1) / axis.stride) {}

  /// Returns the number of slots that the outputs read.
  std::int64_t slots(std::int64_t positions) const { return axis.outputs(positions) + taps - 1; }
  /// Returns how many of these, at either end, are padding in every phase and no more than the
  /// outputs leave free. The next utterance on a line, or the other end of a circle, may share
  /// them.
  std::int64_t shared(std::int64_t positions) const;
  /// Returns how many input positions lie in a slot. A stride may leave some after the last slot.
  std::int64_t read(std::int64_t positions) const;

  Conv2dAxis axis;
  std::int64_t taps;
};

/// Sizes of a convolution by Fourier transforms, over frequency of whole frames and over time of
/// overlapping tiles. Slots that are padding at both ends of the frequencies share their place on
/// the transform's circle, which is no shorter than the kernel. Utterances lie on one time line and
/// share the padding between them.
struct Conv2dFold2d {
  static constexpr std::int64_t kTile = 32;

  explicit Conv2dFold2d(const Conv2dGeometry& geometry);

  Conv2dFold frequency, time;
  std::int64_t length;                 // of the transform over frequency; 0: too long for one
  std::int64_t bins;                   // length / 2 + 1
  std::int64_t channels;               // in, of all phases: [time][frequency][channel]
  std::int64_t in_groups, out_groups;  // channels / 8, rounded up
  std::int64_t valid;                  // outputs of a tile; not positive: kernel too long
  std::vector<std::int64_t> starts;    // slot of each utterance on the line
  std::int64_t tiles, rows;            // of the line; rows are even, and cover all tiles
};

/// The frame that lies in each slot of the line, or -1 for padding.
struct Conv2dLine {
  Conv2dLine(const Conv2dGeometry& geometry, const Conv2dFold2d& fold);

  std::vector<std::int64_t> in;   // [row][phase]
  std::vector<std::int64_t> out;  // [row]
  bool covers_input;              // no frame of the input is left out
};

}  // namespace penstock::layers
