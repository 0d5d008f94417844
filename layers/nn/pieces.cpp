#include "layers/nn/pieces.h"

#include <algorithm>

namespace penstock::layers {

std::vector<std::int64_t> pieces_of(std::span<const std::int64_t> lengths, std::int64_t frames) {
  if (frames == 0) return {lengths.begin(), lengths.end()};
  std::vector<std::int64_t> pieces;
  for (std::int64_t left : lengths)
    for (; left > 0; left -= frames) pieces.push_back(std::min(left, frames));
  return pieces;
}

std::vector<std::uint64_t> keys_of_pieces(std::span<const std::int64_t> lengths,
                                          std::int64_t frames,
                                          std::span<const std::uint64_t> utterances) {
  if (frames == 0) return {utterances.begin(), utterances.end()};
  constexpr int kPlaceBit = 48;
  std::vector<std::uint64_t> keys;
  for (std::size_t u = 0; u < lengths.size(); ++u)
    for (std::int64_t first = 0; first < lengths[u]; first += frames)
      keys.push_back(utterances[u] ^ static_cast<std::uint64_t>(first / frames) << kPlaceBit);
  return keys;
}

}  // namespace penstock::layers
