#include "layers/cpu/convolution/conv2d_spectrum.h"

#include <algorithm>
#include <cstring>

// A real row needs only half of a complex transform. So two rows go through one: they are its real
// and its imaginary part, and split() and join() separate and combine their spectra. Eight channels
// of a row are transformed at once, as the lanes of Complex8. If the channels of a group are not
// neighbours in memory, they are loaded one by one.
//
// Rows may lie outside of every utterance. A pair without frames is not transformed: its spectra
// are set to 0, or nothing is written.

namespace penstock::layers {
namespace {

constexpr std::int64_t kProgressEvery = 64;  // rows

// Rows are transformed in pairs by one complex transform: one row is the real part, and the next
// the imaginary part.
enum Part { kReal, kImaginary };

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

// Channels [c, c + kWide) of one frame. Their slots [first, last) lie at numbers + m·width.
struct Lanes {
  float* numbers;
  std::int64_t first, last;
};

Lanes lanes(const FoldedRows& rows, std::int64_t row, std::int64_t c, std::int64_t length) {
  if (c >= rows.phases * rows.width) return {nullptr, 0, 0};
  const std::int64_t frame = rows.frames[row * rows.phases + c / rows.width];
  if (frame < 0) return {nullptr, 0, 0};
  const std::int64_t offset = c % rows.width - rows.shift;
  return {rows.data + frame * rows.frame_size + offset, ceil_divide(-offset, rows.width),
          std::min(length, ceil_divide(rows.limit - offset, rows.width))};
}

float* place(Complex8* points, std::int64_t m, Part part, std::int64_t lane) {
  return reinterpret_cast<float*>(points + m) + part * 8 + lane;
}

template <std::int64_t kWide>
void load(const FoldedRows& rows, std::int64_t row, std::int64_t group, Part part,
          std::int64_t length, Complex8* points) {
  for (std::int64_t lane = 0; lane < 8; lane += kWide) {
    const auto [numbers, first, last] = lanes(rows, row, group * 8 + lane, length);
    constexpr std::size_t kBytes = kWide * sizeof(float);
    for (std::int64_t m = 0; m < first; ++m) std::memset(place(points, m, part, lane), 0, kBytes);
    for (std::int64_t m = first; m < last; ++m)
      std::memcpy(place(points, m, part, lane), numbers + m * rows.width, kBytes);
    for (std::int64_t m = last; m < length; ++m)
      std::memset(place(points, m, part, lane), 0, kBytes);
  }
}

template <std::int64_t kWide>
void store(const FoldedRows& rows, std::int64_t row, std::int64_t group, Part part,
           std::int64_t length, Complex8* points) {
  for (std::int64_t lane = 0; lane < 8; lane += kWide) {
    const auto [numbers, first, last] = lanes(rows, row, group * 8 + lane, length);
    for (std::int64_t m = first; m < last; ++m)
      std::memcpy(numbers + m * rows.width, place(points, m, part, lane), kWide * sizeof(float));
  }
}

// Returns true if the channels of a group of 8 are always neighbours in memory.
bool in_groups(const FoldedRows& rows) {
  return rows.width % 8 == 0 && rows.shift % 8 == 0 && rows.limit % 8 == 0;
}

// Returns true if no phase of the row has a frame.
bool empty(const FoldedRows& rows, std::int64_t row) {
  const std::int64_t* frames = rows.frames + row * rows.phases;
  return std::all_of(frames, frames + rows.phases, [](std::int64_t f) { return f < 0; });
}

// Computes the spectra A and B of two real rows from Z, the spectrum of row + i · next row:
//   A_k = (Z_k + conj Z_{-k}) / 2, B_k = (Z_k - conj Z_{-k}) / 2i
void split(const Complex8* points, std::int64_t length, const Spectrum& to, std::int64_t row,
           std::int64_t group) {
  for (std::int64_t k = 0; k <= length / 2; ++k) {
    const Complex8 &a = points[k], &b = points[k == 0 ? 0 : length - k];
    Complex8* out = to.at(k, row) + group;
    out[0] = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
    out[to.row_stride] = {0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
  }
}

// One group of a row, bin by bin. A row without frames counts as zeros, whatever it holds.
struct Bins {
  const Complex8* data;
  std::int64_t stride;

  const Complex8& operator[](std::int64_t k) const { return data[k * stride]; }
};

Bins bins(const Spectrum& from, const FoldedRows& to, std::int64_t row, std::int64_t group) {
  static constexpr Complex8 kZero = {};
  if (empty(to, row)) return {&kZero, 0};
  return {from.at(0, row) + group, from.bin_stride};
}

// Inverts split(): Z_k = A_k + i·B_k, Z_{-k} = conj A_k + i·conj B_k.
void join(const Bins& first, const Bins& second, std::int64_t length, Complex8* points) {
  points[0] = {first[0].re, second[0].re};
  points[length / 2] = {first[length / 2].re, second[length / 2].re};
  for (std::int64_t k = 1; k < length / 2; ++k) {
    const Complex8 &a = first[k], &b = second[k];
    points[k] = {a.re - b.im, a.im + b.re};
    points[length - k] = {a.re + b.im, b.re - a.im};
  }
}

}  // namespace

void analyse(Stream& stream, const Fft8& fft, const FoldedRows& from, const Spectrum& to) {
  const std::int64_t length = fft.length(), groups = from.groups();
  const auto read = in_groups(from) ? load<8> : load<1>;
  Complex8 slots[Fft8::kLongest], points[Fft8::kLongest];
  for (std::int64_t row = 0; row < to.rows; row += 2) {
    if (empty(from, row) && empty(from, row + 1)) {
      for (std::int64_t k = 0; k <= length / 2; ++k)
        for (std::int64_t r : {row, row + 1}) std::fill_n(to.at(k, r), groups, Complex8{});
      continue;
    }
    for (std::int64_t group = 0; group < groups; ++group) {
      read(from, row, group, kReal, length, slots);
      read(from, row + 1, group, kImaginary, length, slots);
      fft.forward(slots, 1, points, 1);
      split(points, length, to, row, group);
    }
    if (row % kProgressEvery == 0) stream.progress();
  }
}

void synthesise(Stream& stream, const Fft8& fft, const Spectrum& from, const FoldedRows& to) {
  const std::int64_t length = fft.length(), groups = to.groups();
  const auto write = in_groups(to) ? store<8> : store<1>;
  Complex8 slots[Fft8::kLongest], points[Fft8::kLongest];
  for (std::int64_t row = 0; row < from.rows; row += 2) {
    if (empty(to, row) && empty(to, row + 1)) continue;
    for (std::int64_t group = 0; group < groups; ++group) {
      join(bins(from, to, row, group), bins(from, to, row + 1, group), length, points);
      fft.inverse(points, 1, slots, 1);
      write(to, row, group, kReal, length, slots);
      write(to, row + 1, group, kImaginary, length, slots);
    }
    if (row % kProgressEvery == 0) stream.progress();
  }
}

}  // namespace penstock::layers
