#pragma once

#include "layers/cuda/attention_tile.h"
#include "layers/cuda/fragments.h"

namespace penstock::layers::cuda {

// Rows of a head in shared memory, as operands of tensor cores: f16 or bf16, with zeros after the
// head's channels.

/// One such row. Its pitch of 8 more numbers puts the reads of a warp into different banks.
template <class T, int kWidth>
struct alignas(16) HalvesRow {
  static constexpr int kPitch = kWidth + 8;
  T numbers[kPitch];
};

/// One head's numbers of `count` rows in device memory.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t pitch, count;
  bool turned = false;  // rotated by rotary positions
};

/// Returns the head's rows of q, k or v.
template <class T>
__device__ HeadRows<const T> part_rows(const AttentionHead<T>& of, AttentionPart part) {
  const std::int64_t pitch = 3 * of.in.channels;
  return {of.in.qkv_FP + of.element(0, pitch) + static_cast<int>(part) * of.in.channels, pitch,
          of.tile.frames, of.in.cosines != nullptr && part != AttentionPart::value};
}

/// Returns the head's rows of y or dy.
template <class T>
__device__ HeadRows<const T> output_rows(const AttentionHead<T>& of, const T* from_FC) {
  return {from_FC + of.element(0, of.in.channels), of.in.channels, of.tile.frames};
}

/// Returns the head's rows of r.
template <class T>
__device__ HeadRows<const T> distance_rows(const AttentionHead<T>& of) {
  return {of.in.r_XC + of.head * of.in.width, of.in.channels, 2 * of.in.longest - 1};
}

/// Two channels that are adjacent in shared memory: neighbours, or the two that rotary positions
/// rotate together.
struct ChannelPair {
  int low, high;
};

template <class Rows>
__device__ ChannelPair channel_pair(const Rows& rows, int pair, int width) {
  return rows.turned ? ChannelPair{pair, pair + width / 2} : ChannelPair{2 * pair, 2 * pair + 1};
}

/// Returns channel pair `pair` of a row in one register, rotated if the rows are to be.
template <class T>
__device__ unsigned pair_of_row(const AttentionInput<T>& in, const HeadRows<const T>& from,
                                std::int64_t row, int pair) {
  const ChannelPair at = channel_pair(from, pair, in.width);
  const T* const x = from.first + row * from.pitch;
  const T zero = from_float<T>(0);
  if (!from.turned)
    return std::bit_cast<unsigned>(
        HalfPair<T>{at.low < in.width ? x[at.low] : zero, at.high < in.width ? x[at.high] : zero});
  if (pair >= in.width / 2) return 0;
  const std::int64_t angle = row * (in.width / 2) + pair;
  const float a = to_float(x[at.low]), b = to_float(x[at.high]);
  const float cosine = in.cosines[angle], sine = in.sines[angle];
  return rounded_pair<T>(a * cosine - b * sine, b * cosine + a * sine);
}

/// Returns true if eight channels can be read at once.
template <class T>
__device__ bool in_eights(const HeadRows<const T>& from, int width) {
  return !from.turned && width % 8 == 0 && from.pitch % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(from.first) % 16 == 0;
}

/// Loads `count` rows from `first` on; rows that do not exist become zeros. The block's threads
/// share the work.
template <class T, int kWidth>
__device__ void load_rows(const AttentionInput<T>& in, const HeadRows<const T>& from,
                          std::int64_t first, int count, HalvesRow<T, kWidth>* to) {
  const auto there = [&](int row) { return first + row >= 0 && first + row < from.count; };
  if (in_eights(from, in.width)) {
    for (int i = thread_x(); i < count * (kWidth / 8); i += block_threads()) {
      const int row = i / (kWidth / 8), c = i % (kWidth / 8) * 8;
      const T* const source = from.first + (first + row) * from.pitch + c;
      *reinterpret_cast<uint4*>(&to[row].numbers[c]) =
          there(row) && c < in.width ? *reinterpret_cast<const uint4*>(source) : uint4{};
    }
    return;
  }
  for (int i = thread_x(); i < count * (kWidth / 2); i += block_threads()) {
    const int row = i / (kWidth / 2), pair = i % (kWidth / 2);
    *reinterpret_cast<unsigned*>(&to[row].numbers[2 * pair]) =
        there(row) ? pair_of_row(in, from, first + row, pair) : 0;
  }
}

}  // namespace penstock::layers::cuda
