#pragma once

#include <algorithm>
#include <cmath>

#include "layers/cpu/attention/rotary.h"
#include "layers/ops/attention.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// Frames whose weights are computed together: rows of a tile.
inline constexpr std::int64_t kTileFrames = 64;

/// Workspace of attention, for one head of one utterance and a tile of its frames. It grows with
/// the longest utterance's frames and keys, and not with their square.
template <class T>
struct AttentionScratch {
  AttentionScratch(const AttentionGeometry& geometry, bool relative, bool backward,
                   Scratch scratch) {
    const std::int64_t d = geometry.head_channels(), frames = geometry.longest(),
                       most = geometry.most_keys();
    const std::int64_t rows = std::min(kTileFrames, frames);
    const auto take = [&](std::int64_t count, bool wanted = true) {
      return scratch.take<T>(wanted ? count : 0);
    };
    cosines = take(frames * (d / 2), geometry.rotary_base != 0);
    sines = take(frames * (d / 2), geometry.rotary_base != 0);
    keys = take(most * d);
    queries = take(rows * d);
    weights = take(rows * most);
    positioned = take(rows * d, relative);
    band = take(rows * (rows + frames - 1), relative);
    dropped = take(rows * most, backward);
    d_weights = take(rows * most, backward);
    d_queries = take(rows * d, backward);
    d_keys = take(most * d, backward);
    d_values = take(most * d, backward);
    bytes = scratch.used();
  }

  T *cosines, *sines;  // [frames, d / 2], of the rotary angles
  T* keys;             // [keys, d], rotated
  T* queries;          // [rows, d], rotated, with u, over √d
  T* weights;          // [rows, keys seen]: scores, then p
  T* positioned;       // [rows, d], queries with v instead of u
  T* band;             // [rows, distances seen]
  T* dropped;          // as weights, after dropout
  T* d_weights;
  T *d_queries, *d_keys, *d_values;
  std::size_t bytes;
};

/// Computes the angles of every frame up to the longest utterance's last, as
/// AttentionGeometry::rotary_base says.
template <class T>
void fill_rotary_angles(const AttentionGeometry& geometry, const AttentionScratch<T>& scratch) {
  if (geometry.rotary_base == 0) return;
  const std::int64_t d = geometry.head_channels(), half = d / 2, frames = geometry.longest();
  for (std::int64_t c = 0; c < half; ++c) {
    const double rotate = rotary_step(geometry.rotary_base, c, d);
    for (std::int64_t t = 0; t < frames; ++t) {
      const double angle = static_cast<double>(t) * rotate;
      scratch.cosines[t * half + c] = static_cast<T>(std::cos(angle));
      scratch.sines[t * half + c] = static_cast<T>(std::sin(angle));
    }
  }
}

}  // namespace penstock::layers
