#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::layers {

/// A tile of a transducer's cells (layers/ops/transducer.h): some frames of one utterance with all
/// their cells. Its rows are counted in matrices where utterances lie one after the other.
struct TransducerTile {
  std::int64_t first_frame = 0, frames = 0;
  std::int64_t first_position = 0, positions = 0;  // all U + 1 of the utterance
  std::int64_t first_cell = 0;

  std::int64_t cells() const { return frames * positions; }
};

/// Rows that the tensors of one tile need at most. No number shrinks if an utterance gets more
/// frames or more labels.
struct TransducerTileRows {
  std::int64_t frames = 0, positions = 0, cells = 0;
};

/// Returns the tiles of all utterances, in their order: as many frames each as have at most `most`
/// cells together, but at least one. So they depend on no other utterance. `positions` is U + 1 of
/// each utterance.
[[nodiscard]] std::vector<TransducerTile> transducer_tiles(std::span<const std::int64_t> lengths,
                                                           std::span<const std::int64_t> positions,
                                                           std::int64_t most);

/// Returns the rows that these tiles need.
[[nodiscard]] TransducerTileRows transducer_tile_rows(std::span<const std::int64_t> lengths,
                                                      std::span<const std::int64_t> positions,
                                                      std::int64_t most);

}  // namespace penstock::layers
