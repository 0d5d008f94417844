#include "runtime/trainer/state_copy.h"

#include <utility>

namespace penstock::runtime {
namespace {

std::size_t bytes_of(const CheckpointPiece& piece) {
  return static_cast<std::size_t>(piece.end - piece.begin) * layers::size_of(piece.dtype);
}

}  // namespace

std::size_t bytes_of(std::span<const CheckpointPiece> pieces) {
  std::size_t bytes = 0;
  for (const CheckpointPiece& piece : pieces) bytes += bytes_of(piece);
  return bytes;
}

StateCopy::StateCopy(layers::Backend& backend, layers::Stream& stream,
                     std::vector<CheckpointPiece> pieces)
    : backend_(backend),
      stream_(stream),
      pieces_(std::move(pieces)),
      memory_(backend.allocate_host(bytes_of(pieces_))) {}

std::vector<CheckpointPiece> StateCopy::take() {
  std::vector<CheckpointPiece> copies = pieces_;
  std::byte* to = memory_.data();
  for (CheckpointPiece& piece : copies) {
    const std::size_t bytes = bytes_of(piece);
    backend_.copy_out_async(stream_, to, piece.data, bytes);
    piece.data = to;
    to += bytes;
  }
  backend_.synchronize(stream_);
  return copies;
}

}  // namespace penstock::runtime
