#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::layers {

// A layer may cut each utterance into pieces of equally many frames, of which the last may be
// shorter, and treat each piece as an utterance of its own. Pieces follow each other as utterances
// do, so an operation only needs other lengths.

/// Returns the frames of each piece of each utterance: full ones of `frames`, and what is left.
/// With 0 frames, utterances stay whole. An utterance without frames has no piece.
[[nodiscard]] std::vector<std::int64_t> pieces_of(std::span<const std::int64_t> lengths,
                                                  std::int64_t frames);

/// Returns a number for each of these pieces, by which random numbers tell them apart: that of the
/// utterance, with the piece's place in it in the highest 16 bits. So the first piece has the
/// utterance's own.
[[nodiscard]] std::vector<std::uint64_t> keys_of_pieces(std::span<const std::int64_t> lengths,
                                                        std::int64_t frames,
                                                        std::span<const std::uint64_t> utterances);

}  // namespace penstock::layers
