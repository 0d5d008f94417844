#include "runtime/pipeline/arena_table.h"

#include <algorithm>

#include "runtime/pipeline/parameter_store.h"

namespace penstock {
namespace {

/// Elements from where `arena` begins to `part`, of the same or of other memory.
std::int64_t offset(const Tensor& arena, const Tensor& part) {
  const auto bytes =
      reinterpret_cast<std::intptr_t>(part.data) - reinterpret_cast<std::intptr_t>(arena.data);
  return static_cast<std::int64_t>(bytes) / static_cast<std::int64_t>(size_of(arena.dtype));
}

/// The piece's first block, as if it were as long as the piece.
ArenaBlock place_of(const ParameterStore& store, const ParameterPiece& piece) {
  ArenaBlock block;
  block.place = piece.first_block;
  block.count = piece.count;
  block.gradient = offset(store.gradient_arena(), store.gradient(piece, 0));
  block.weight = offset(store.weight_arena(), store.weight(piece));
  if (store.slots_of_elements() > 0) block.slot = offset(store.slot_arena(0), store.slot(piece, 0));
  if (const Tensor rounded = store.copy(piece); rounded.data != nullptr)
    block.rounded = offset(store.copy_arena(), rounded);
  return block;
}

ArenaBlock moved(ArenaBlock block, std::int64_t elements) {
  block.place += elements / kNormBlock;
  block.count = std::min(kNormBlock, block.count - elements);
  block.gradient += elements;
  block.weight += elements;
  block.slot += elements;
  if (block.rounded >= 0) block.rounded += elements;
  return block;
}

}  // namespace

ArenaTable::ArenaTable(Backend& backend, Stream& stream, const ParameterStore& store) {
  std::vector<ArenaBlock> blocks;
  for (const ParameterPiece& piece : store.owned()) {
    const ArenaBlock whole = place_of(store, piece);
    for (std::int64_t first = 0; first < piece.count; first += kNormBlock)
      blocks.push_back(moved(whole, first));
    starts_.push_back(static_cast<std::int64_t>(blocks.size()));
  }
  if (blocks.empty()) return;
  memory_ = backend.allocate(blocks.size() * sizeof(ArenaBlock));
  backend.copy_in(stream, memory_.data(), blocks.data(), memory_.bytes());
}

ArenaBlocks ArenaTable::part(std::size_t begin, std::size_t end) const {
  const auto* const table = reinterpret_cast<const ArenaBlock*>(memory_.data());
  return {table + starts_[begin], starts_[end] - starts_[begin]};
}

}  // namespace penstock
