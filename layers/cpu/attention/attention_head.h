#pragma once

#include <algorithm>
#include <cmath>

#include "layers/cpu/attention/attention_scratch.h"
#include "layers/cpu/attention/rotary.h"
#include "layers/cpu/products/product.h"
#include "layers/cpu/vector_math.h"
#include "layers/philox.h"

namespace penstock::layers {

/// Consecutive frames whose weights are computed together, and all the keys that they see.
struct AttentionTile {
  std::int64_t first, rows;
  std::int64_t first_seen, seen;

  std::int64_t distances() const { return rows + seen - 1; }
};

/// The place of one head of one utterance.
struct AttentionPlace {
  std::size_t utterance = 0;
  std::int64_t first_row = 0;  // the utterance's, in matrices of frames
  std::int64_t frames = 0;
  std::int64_t first_key = 0;  // its first row in the matrix of keys
  std::int64_t keys = 0;
  std::int64_t head = 0;
};

/// One head of one utterance, which computes its weights one tile of frames at a time. The keys are
/// rotated once, in the constructor. `Op` is AttentionForward or AttentionBackward.
template <class T, class Op>
class AttentionHead {
 public:
  AttentionHead(const Op& op, const AttentionScratch<T>& scratch, const AttentionPlace& place)
      : op_(op), scratch_(scratch), place_(place) {
    const std::int64_t d = width();
    for (std::int64_t j = 0; j < place.keys; ++j)
      copy_rotated(j, key_row(keys_of(), j), scratch.keys + j * d, T(1), nullptr);
  }

  std::int64_t width() const { return op_.geometry.head_channels(); }
  std::int64_t channels() const { return op_.geometry.channels; }
  bool relative() const { return op_.relative.r_XC.data != nullptr; }
  T scale() const { return 1 / std::sqrt(static_cast<T>(width())); }

  /// Returns the first of this head's channels in a frame, in a matrix whose first C columns are q,
  /// y or their gradients.
  T* row_of(const Tensor& matrix, std::int64_t frame) const {
    return matrix.as<T>() + (place_.first_row + frame) * matrix.shape[1] + place_.head * width();
  }
  /// Returns the matrix of k and v: that of q as well, or the memory's.
  const Tensor& keys_of() const { return op_.geometry.cross() ? op_.kv_MP : op_.qkv_FP; }
  /// Returns the first channel of the k, or of the v, that this head reads, in a matrix such as
  /// keys_of() or in its gradient.
  T* key_row(const Tensor& matrix, std::int64_t key) const {
    const std::int64_t before = op_.geometry.cross() ? 0 : channels();
    return matrix.as<T>() + (place_.first_key + key) * matrix.shape[1] + before +
           place_.head / op_.geometry.group() * width();
  }
  T* value_row(const Tensor& matrix, std::int64_t key) const {
    return key_row(matrix, key) + op_.geometry.key_channels();
  }
  /// Returns v_j, a row of [keys, d] whose rows start value_pitch() numbers apart.
  const T* values(std::int64_t j) const { return value_row(keys_of(), j); }
  std::int64_t value_pitch() const { return keys_of().shape[1]; }
  T* log_sums(std::int64_t i) const {
    if (op_.log_sums_HF.data == nullptr) return nullptr;
    return op_.log_sums_HF.template as<T>() + place_.head * op_.y_FC.shape[0] + place_.first_row +
           i;
  }
  /// Returns the row of r_XC for the tile's max distance. The rows after it have smaller distances.
  std::int64_t first_distance(const AttentionTile& tile) const {
    return op_.geometry.longest() - 1 - (tile.first + tile.rows - 1 - tile.first_seen);
  }

  /// Calls use(tile) for all frames, in their order.
  template <class Use>
  void for_tiles(const Use& use) const {
    const std::int64_t left = op_.geometry.left, right = op_.geometry.right;
    for (std::int64_t first = 0; first < place_.frames; first += kTileFrames) {
      const std::int64_t rows = std::min(kTileFrames, place_.frames - first);
      const std::int64_t first_seen = std::max<std::int64_t>(0, first - left);
      const std::int64_t end_seen = std::min(place_.keys, first + rows + right);
      use(AttentionTile{first, rows, first_seen, end_seen - first_seen});
    }
  }

  /// Computes s_ij of the tile in scratch.weights. Numbers are undefined if i does not see j.
  void compute_scores(const AttentionTile& tile) const {
    const std::int64_t d = width();
    for (std::int64_t r = 0; r < tile.rows; ++r)
      copy_rotated(tile.first + r, row_of(op_.qkv_FP, tile.first + r), scratch_.queries + r * d,
                   scale(), bias(op_.relative.u_C));
    run_product(Product<T>{.m = tile.rows,
                           .n = tile.seen,
                           .k = d,
                           .a = {scratch_.queries, d},
                           .b = {scratch_.keys + tile.first_seen * d, d, true},
                           .c = scratch_.weights,
                           .c_stride = tile.seen});
    if (relative()) add_positions(tile);
  }

  /// Columns of the tile that a row sees.
  struct Seen {
    std::int64_t begin, end;
  };
  Seen keys_seen_by(const AttentionTile& tile, std::int64_t r) const {
    const std::int64_t i = tile.first + r;
    return {std::max<std::int64_t>(0, i - op_.geometry.left - tile.first_seen),
            std::min(tile.seen, i + op_.geometry.right + 1 - tile.first_seen)};
  }
  /// Sets the weights to 0 of frames that row r does not see.
  void clear_unseen(const AttentionTile& tile, std::int64_t r) const {
    T* row = scratch_.weights + r * tile.seen;
    const Seen seen = keys_seen_by(tile, r);
    std::fill(row, row + seen.begin, T{0});
    std::fill(row + seen.end, row + tile.seen, T{0});
  }

  /// Applies dropout to the tile: to[r][c] = dropped ? 0 : from[r][c] / (1 - probability).
  void drop(const AttentionTile& tile, const T* from, T* to) const {
    const DropoutMask& mask = op_.dropout;
    const auto limit = static_cast<std::uint64_t>(mask.probability * 0x1p32);
    const auto factor = static_cast<T>(1 / (1 - mask.probability));
    const std::uint64_t utterance = mask.random.utterances[place_.utterance];
    const PhiloxStream random = philox_stream(
        mask.random.seed, {mask.layer + 2654435769u * static_cast<std::uint32_t>(place_.head),
                           mask.random.epoch, low_word(utterance), high_word(utterance)});
    PhiloxBlock block{};
    for (std::int64_t r = 0; r < tile.rows; ++r, from += tile.seen, to += tile.seen)
      for (std::int64_t c = 0; c < tile.seen; ++c) {
        const std::int64_t j = tile.first_seen + c;
        if (c == 0 || j % 4 == 0)
          block =
              random(static_cast<std::uint32_t>(j / 4), static_cast<std::uint32_t>(tile.first + r));
        to[c] = block[static_cast<std::size_t>(j % 4)] < limit ? T{0} : from[c] * factor;
      }
  }

  /// Sets to = factor · (from + bias), rotated by the angles of that frame, or rotated back if
  /// `back`.
  void copy_rotated(std::int64_t frame, const T* from, T* to, T factor, const T* bias,
                    bool back = false) const {
    const std::int64_t d = width(), half = d / 2;
    for (std::int64_t c = 0; c < d; ++c)
      to[c] = factor * (bias == nullptr ? from[c] : from[c] + bias[c]);
    if (op_.geometry.rotary_base == 0) return;
    turn(to, half, scratch_.cosines + frame * half, scratch_.sines + frame * half,
         back ? T(-1) : T(1));
  }

  const T* bias(const Tensor& of_all_heads) const {
    return of_all_heads.data == nullptr ? nullptr : of_all_heads.as<T>() + place_.head * width();
  }

  const AttentionPlace& place() const { return place_; }

 private:
  // Adds the scores of relative positions. Column x of the band has the tile's x-th distance, from
  // the largest down. So distance i - j of row r and column c is in column c + (rows - 1 - r): the
  // relative shift of Transformer-XL (Dai et al. 2019).
  void add_positions(const AttentionTile& tile) const {
    const std::int64_t d = width(), C = channels(), columns = tile.distances();
    for (std::int64_t r = 0; r < tile.rows; ++r)
      copy_rotated(tile.first + r, row_of(op_.qkv_FP, tile.first + r), scratch_.positioned + r * d,
                   scale(), bias(op_.relative.v_C));
    run_product(Product<T>{
        .m = tile.rows,
        .n = columns,
        .k = d,
        .a = {scratch_.positioned, d},
        .b = {op_.relative.r_XC.template as<T>() + first_distance(tile) * C + place_.head * d, C,
              true},
        .c = scratch_.band,
        .c_stride = columns});
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const T* from = scratch_.band + r * columns + tile.rows - 1 - r;
      T* to = scratch_.weights + r * tile.seen;
      for (std::int64_t c = 0; c < tile.seen; ++c) to[c] += from[c];
    }
  }

  const Op& op_;
  const AttentionScratch<T>& scratch_;
  AttentionPlace place_;
};

/// Calls use(place) for every head of every utterance.
template <class Use>
void for_heads(const AttentionGeometry& geometry, const Use& use) {
  AttentionPlace place;
  for (; place.utterance < geometry.lengths.size(); ++place.utterance) {
    place.frames = geometry.lengths[place.utterance];
    place.keys = geometry.keys()[place.utterance];
    for (place.head = 0; place.head < geometry.heads; ++place.head) use(place);
    place.first_row += place.frames;
    place.first_key += place.keys;
  }
}

}  // namespace penstock::layers
