#include "layers/losses/transducer_tiles.h"

#include <algorithm>
#include <cstddef>

namespace penstock::layers {
namespace {

/// A grid of CUDA has at most as many rows, one for each frame.
constexpr std::int64_t kMaxTileFrames = 65535;

}  // namespace

std::vector<TransducerTile> transducer_tiles(std::span<const std::int64_t> lengths,
                                             std::span<const std::int64_t> positions,
                                             std::int64_t most) {
  std::vector<TransducerTile> tiles;
  TransducerTile next;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    next.positions = positions[u];
    const std::int64_t frames = std::clamp<std::int64_t>(most / next.positions, 1, kMaxTileFrames);
    for (std::int64_t t = 0; t < lengths[u]; t += frames) {
      next.frames = std::min(frames, lengths[u] - t);
      tiles.push_back(next);
      next.first_frame += next.frames;
      next.first_cell += next.cells();
    }
    next.first_position += next.positions;
  }
  return tiles;
}

// The cells of the largest tile would not do: with more labels, fewer frames fit, and their cells
// may be fewer.
TransducerTileRows transducer_tile_rows(std::span<const std::int64_t> lengths,
                                        std::span<const std::int64_t> positions,
                                        std::int64_t most) {
  TransducerTileRows rows;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    const std::int64_t frames = lengths[u], row = positions[u];
    rows.frames = std::max(rows.frames, std::min(frames, std::max<std::int64_t>(1, most)));
    rows.positions = std::max(rows.positions, row);
    rows.cells = std::max(rows.cells, std::min(frames * row, std::max(most, row)));
  }
  return rows;
}

}  // namespace penstock::layers
