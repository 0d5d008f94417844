#pragma once

#include <cstdint>

#include "layers/backend.h"
#include "layers/cpu/convolution/complex8.h"
#include "layers/cpu/convolution/fft8.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// A view of a matrix of frames as rows of slots of channels, of all phases of a fold. Channel c of
/// slot m in row r is number m·width + c % width - shift of frame frames[r·phases + c / width]. It
/// is 0 if that lies outside [0, limit) or there is no frame.
struct FoldedRows {
  float* data = nullptr;
  std::int64_t frame_size = 0;           // numbers from frame to frame
  const std::int64_t* frames = nullptr;  // -1: none
  std::int64_t phases = 1;
  std::int64_t width = 0, shift = 0, limit = 0;

  std::int64_t groups() const { return (phases * width + 7) / 8; }
};

/// Spectra over frequency. Row r of bin k starts at data + k·bin_stride + r·row_stride.
struct Spectrum {
  Spectrum(std::int64_t bins, std::int64_t rows, std::int64_t groups, Scratch& scratch)
      : rows(rows),
        row_stride(groups),
        bin_stride(odd(rows * groups)),
        data(scratch.take<Complex8>(bins * bin_stride)) {}

  Complex8* at(std::int64_t bin, std::int64_t row) const {
    return data + bin * bin_stride + row * row_stride;
  }

  std::int64_t rows, row_stride, bin_stride;
  Complex8* data;
};

/// Transforms the slots of an even number of rows into bins 0 to length / 2.
void analyse(Stream&, const Fft8&, const FoldedRows& from, const Spectrum& to);

/// Inverts analyse(), times the length. Writes only the numbers that `to` has, and reads no row
/// that has no frame.
void synthesise(Stream&, const Fft8&, const Spectrum& from, const FoldedRows& to);

}  // namespace penstock::layers
